import { text } from 'node:stream/consumers';
import {
  type DefinitionNode,
  type FieldDefinitionNode,
  isTypeDefinitionNode,
  Kind,
  parse,
  print,
  visit,
} from 'graphql';

/**
 * Cuts names out of the schema of a subgraph: fields such as `Mutation.login`, and types such as `ApiKey` with every field
 * of that type. Types to which no field leads any more are cut as well.
 * @throws TypeError if the schema does not have one of the names.
 */
export function cut(sdl: string, names: readonly string[]): string {
  const found = new Set<string>();
  const isNamed = (name: string) => names.includes(name) && found.add(name).has(name);
  const definitions = parse(sdl).definitions.flatMap((definition): DefinitionNode[] => {
    if (definition.kind !== Kind.OBJECT_TYPE_DEFINITION) return [definition];
    const type = definition.name.value;
    const fields = definition.fields?.filter(
      (field) => !isNamed(`${type}.${field.name.value}`) && !isNamed(typeOf(field)),
    );
    return isNamed(type) || fields?.length === 0
      ? []
      : [{ ...definition, ...(fields && { fields }) }];
  });
  const missing = names.filter((name) => !found.has(name));
  if (missing.length > 0) throw new TypeError(`The schema does not have ${missing.join(', ')}.`);
  return `${print({ kind: Kind.DOCUMENT, definitions: withoutOrphans(definitions) })}\n`;
}

function typeOf({ type }: FieldDefinitionNode): string {
  return print(type).replaceAll(/[[\]!]/g, '');
}

/** Leaves out the types that neither a root type nor an entity leads to: composers merge those as well. */
function withoutOrphans(definitions: readonly DefinitionNode[]): readonly DefinitionNode[] {
  const types = definitions.filter(isTypeDefinitionNode);
  const reached = new Set<string>();
  const reach = (name: string) => {
    const type = types.find((each) => each.name.value === name);
    if (type === undefined || reached.has(name)) return;
    reached.add(name);
    visit(type, { NamedType: (named) => reach(named.name.value) });
  };
  for (const { name, directives = [] } of types) {
    const isEntity = directives.some((directive) => directive.name.value === 'key');
    if (isEntity || /^(?:Query|Mutation|Subscription)$/.test(name.value)) reach(name.value);
  }
  return definitions.filter((each) => !isTypeDefinitionNode(each) || reached.has(each.name.value));
}

if (import.meta.main) {
  try {
    process.stdout.write(cut(await text(process.stdin), process.argv.slice(2)));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
