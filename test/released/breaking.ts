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

/** Finds the changes that break a client or a federated graph, each as one sentence. */
export function findBreaks(released: string, current: string): readonly string[] {
  const [before, after] = [parse(released), parse(current)];
  const build = (document: DocumentNode) => buildASTSchema(document, { assumeValidSDL: true });
  const [oldSchema, newSchema] = [build(before), build(after)];
  return [
    ...findBreakingChanges(oldSchema, newSchema).map(({ description }) => description),
    // A client that omits the argument gets another result.
    ...findDangerousChanges(oldSchema, newSchema)
      .filter(({ type }) => type === DangerousChangeType.ARG_DEFAULT_VALUE_CHANGE)
      .map(({ description }) => description),
    ...findDirectiveBreaks(directivesOf(before), directivesOf(after)),
  ];
}

/** Returns the changes that no item under the changelog's heading `Unreleased` declares as breaking. */
export function findUndeclared(breaks: readonly string[], changelog: string): readonly string[] {
  const sections = changelog.split(/^## /m);
  const unreleased = sections.find((section) => /^Unreleased\s/.test(section)) ?? '';
  const items = unreleased.split(/^[-*] /m).slice(1);
  const texts = items.map((item) => item.replace(/[`*]/g, '').replace(/\s+/g, ' '));
  return breaks.filter((each) => !texts.some((text) => text.startsWith(`Breaking: ${each}`)));
}

/** The directives of each definition, by its path: `Type`, `Type.field`, `Type.field.argument`. */
type Directives = ReadonlyMap<string, ReadonlySet<string>>;

/** Directives whose addition breaks clients or the graph. */
const BREAKING_IF_ADDED: ReadonlySet<string> = new Set(['@oneOf', '@inaccessible', '@external']);

/** graphql-js does not compare directives, but routers depend on those of federation, and clients on `@oneOf`. */
function findDirectiveBreaks(before: Directives, after: Directives): readonly string[] {
  return [...before].flatMap(([name, old]) => {
    const current = after.get(name);
    if (current === undefined) return []; // removed: findBreakingChanges reports it
    const lost = [...old].filter((each) => !current.has(each) && each !== '@inaccessible');
    const added = [...current].filter((each) => !old.has(each) && BREAKING_IF_ADDED.has(each));
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

/** Whether a node defines a type, a field, an argument or an enum value, or extends a type. */
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
      `schema.graphql breaks clients of the last release. Revert these changes, or declare them under Unreleased in CHANGELOG.md:\n${items}`,
    );
    process.exitCode = 1;
  }
}
