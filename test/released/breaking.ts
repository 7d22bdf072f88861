import { readFileSync } from 'node:fs';
import {
  type ASTNode,
  buildASTSchema,
  type ConstDirectiveNode,
  DangerousChangeType,
  type DocumentNode,
  findBreakingChanges,
  findDangerousChanges,
  type NameNode,
  parse,
  print,
  visit,
} from 'graphql';

/** Every change from one schema to another that breaks a client or a federated graph, each as one sentence. */
export function findBreaks(released: string, present: string): readonly string[] {
  const [before, after] = [parse(released), parse(present)];
  const build = (document: DocumentNode) => buildASTSchema(document, { assumeValidSDL: true });
  const [had, has] = [build(before), build(after)];
  return [
    ...findBreakingChanges(had, has).map(({ description }) => description),
    // Who leaves an argument out gets another answer.
    ...findDangerousChanges(had, has)
      .filter(({ type }) => type === DangerousChangeType.ARG_DEFAULT_VALUE_CHANGE)
      .map(({ description }) => description),
    ...findDirectiveBreaks(directivesOf(before), directivesOf(after)),
  ];
}

/** Those that the part of a changelog under the heading `Unreleased` does not declare. */
export function findUndeclared(breaks: readonly string[], changelog: string): readonly string[] {
  const sections = changelog.split(/^## /m);
  const unreleased = sections.find((section) => /^Unreleased\s/.test(section)) ?? '';
  const items = unreleased.split(/^[-*] /m).slice(1);
  const plain = items.map((item) => item.replace(/[`*]/g, '').replace(/\s+/g, ' '));
  return breaks.filter((each) => !plain.some((item) => item.startsWith(`Breaking: ${each}`)));
}

/** The directives of everything that has a name, by that: `Type`, `Type.field`, `Type.field.argument`. */
type Directives = ReadonlyMap<string, ReadonlySet<string>>;

/** What takes something from clients or from the graph where it is added, or is needed where it stands. */
const NARROWING: ReadonlySet<string> = new Set(['@oneOf', '@inaccessible', '@external']);

/** graphql-js compares no directives: a router needs those of federation, and a client `@oneOf`. */
function findDirectiveBreaks(before: Directives, after: Directives): readonly string[] {
  return [...before].flatMap(([name, had]) => {
    const has = after.get(name);
    if (has === undefined) return []; // it is gone, which has been said
    const lost = [...had].filter((each) => !has.has(each) && each !== '@inaccessible');
    const added = [...has].filter((each) => !had.has(each) && NARROWING.has(each));
    return [
      ...lost.map((each) => `${name} lost ${each}.`),
      ...added.map((each) => `${name} became ${each}.`),
    ];
  });
}

function directivesOf(document: DocumentNode): Directives {
  const found = new Map<string, Set<string>>();
  const path: string[] = [];
  visit(document, {
    enter: (node) => {
      if (!isDefinition(node)) return;
      path.push(node.name.value);
      const directives = found.get(path.join('.')) ?? new Set();
      for (const directive of node.directives ?? []) directives.add(print(directive));
      found.set(path.join('.'), directives);
    },
    leave: (node) => {
      if (isDefinition(node)) path.pop();
    },
  });
  return found;
}

type Definition = {
  readonly name: NameNode;
  readonly directives?: readonly ConstDirectiveNode[];
};

/** Of a type, a field, an argument or a value of an enum, `extend type` included. */
function isDefinition(node: ASTNode): node is ASTNode & Definition {
  return /(?:Definition|Extension)$/.test(node.kind) && 'name' in node && node.name !== undefined;
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
