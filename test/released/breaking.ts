import { readFileSync } from 'node:fs';
import {
  buildASTSchema,
  type ConstDirectiveNode,
  type DocumentNode,
  findBreakingChanges,
  Kind,
  parse,
  print,
} from 'graphql';

/** Every change from one schema to another that breaks a client or a federated graph, each as one sentence. */
export function findBreaks(released: string, present: string): readonly string[] {
  const [before, after] = [parse(released), parse(present)];
  const build = (document: DocumentNode) => buildASTSchema(document, { assumeValidSDL: true });
  return [
    ...findBreakingChanges(build(before), build(after)).map(({ description }) => description),
    ...findDirectiveBreaks(before, after),
  ];
}

/** Those that the part of a changelog which is not released yet does not declare. */
export function findUndeclared(breaks: readonly string[], changelog: string): readonly string[] {
  const [, unreleased = ''] = changelog.split(/^## /m);
  const declared = unreleased.split(/^- /m).filter((item) => item.startsWith('Breaking: '));
  const plain = declared.map((item) => item.replaceAll('`', '').replace(/\s+/g, ' '));
  return breaks.filter((each) => !plain.some((item) => item.includes(each)));
}

/** graphql-js compares no directives: a router needs those of federation, and a client `@oneOf`. */
function findDirectiveBreaks(before: DocumentNode, after: DocumentNode): readonly string[] {
  const now = directivesOf(after);
  return [...directivesOf(before)].flatMap(([name, had]) => {
    const has = now.get(name);
    if (has === undefined) return []; // the type is gone, which has been said
    const lost = [...had].filter((each) => !has.has(each)).map((each) => `${name} lost ${each}.`);
    const narrowed = has.has('@oneOf') && !had.has('@oneOf') ? [`${name} became @oneOf.`] : [];
    return [...lost, ...narrowed];
  });
}

function directivesOf(document: DocumentNode): ReadonlyMap<string, ReadonlySet<string>> {
  const text = (directives: readonly ConstDirectiveNode[] = []) => new Set(directives.map(print));
  return new Map(
    document.definitions.flatMap((type): [string, ReadonlySet<string>][] => {
      const isType =
        type.kind === Kind.OBJECT_TYPE_DEFINITION ||
        type.kind === Kind.INPUT_OBJECT_TYPE_DEFINITION;
      if (!isType) return [];
      const fields = type.fields ?? [];
      return [
        [type.name.value, text(type.directives)],
        ...fields.map((field): [string, ReadonlySet<string>] => [
          `${type.name.value}.${field.name.value}`,
          text(field.directives),
        ]),
      ];
    }),
  );
}

if (import.meta.main) {
  const read = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8');
  const breaks = findBreaks(read('schema.graphql'), read('../../schema.graphql'));
  const undeclared = findUndeclared(breaks, read('../../CHANGELOG.md'));
  if (undeclared.length > 0) {
    const items = undeclared.map((each) => `- Breaking: ${each}\n`).join('');
    process.stderr.write(
      `schema.graphql breaks clients of the last release. Undo it, or declare it under Unreleased in CHANGELOG.md:\n${items}`,
    );
    process.exitCode = 1;
  }
}
