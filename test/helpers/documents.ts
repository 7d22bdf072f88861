import { readdirSync, readFileSync } from 'node:fs';
import {
  type DocumentNode,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isObjectType,
  isScalarType,
  Kind,
  OperationTypeNode,
  parse,
} from 'graphql';

const ROOT = new URL('../..', import.meta.url);

/** Every string in the sources of tests and clients that is a GraphQL document, but for subscriptions: their response is a stream. */
export function documentsOfTheSuite(): readonly string[] {
  const files = ['test', 'src/client', 'examples']
    .flatMap((folder) =>
      readdirSync(new URL(folder, ROOT), { recursive: true }).map((file) => `${folder}/${file}`),
    )
    .filter((file) => /\.(?:ts|graphql)$/.test(file) && !/node_modules/.test(file));
  const texts = files.flatMap((file) => {
    const source = readFileSync(new URL(file, ROOT), 'utf8');
    if (file.endsWith('.graphql')) return [source];
    return [...source.matchAll(/'((?:[^'\\\n]|\\.)*)'|`([^`$\\]*)`/g)].map(
      ([, one, other]) => one ?? other ?? '',
    );
  });
  return [...new Set(texts)].filter((text) => {
    const operations = tryParse(text)?.definitions.filter(
      (node) => node.kind === Kind.OPERATION_DEFINITION,
    );
    return operations?.some(({ operation }) => operation !== OperationTypeNode.SUBSCRIPTION);
  });
}

function tryParse(text: string): DocumentNode | null {
  try {
    return parse(text);
  } catch {
    return null;
  }
}

/** A request, valid or not. */
export type GeneratedRequest = {
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly operationName?: string | null;
};

/** Generates a request: mostly valid, with aliases, fragments, directives, variables and defaults. */
export function generateRequest(schema: GraphQLSchema, random: () => number): GeneratedRequest {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T; // no list here is empty
  const chance = (share: number) => random() < share;
  const definitions: string[] = [];
  const variables: Record<string, unknown> = {};
  const fragments: string[] = [];

  const variable = (type: string, value: unknown): string => {
    const name = `v${definitions.length}`;
    const isWrong = chance(0.02);
    definitions.push(
      `$${name}: ${type}${chance(0.2) && !type.endsWith('!') ? ` = ${literal(value)}` : ''}`,
    );
    if (!chance(0.1)) variables[name] = isWrong ? pick([null, {}, [[]], 'x', -1]) : value;
    return `$${name}`;
  };

  const generateValue = (type: GraphQLInputType): unknown => {
    const bare = getNullableType(type);
    if (isListType(bare)) return chance(0.3) ? [] : [generateValue(bare.ofType)];
    if (isEnumType(bare)) return new EnumWord(pick(bare.getValues()).name);
    if (isInputObjectType(bare)) {
      const fields = Object.values(bare.getFields());
      const chosen = bare.isOneOf
        ? [pick(fields)]
        : fields.filter((field) => String(field.type).endsWith('!') || chance(0.3));
      return Object.fromEntries(chosen.map((field) => [field.name, generateValue(field.type)]));
    }
    switch (bare.name) {
      case 'Int':
        return pick([1, 2, 3, 50, 1000, 0, 5000]);
      case 'Boolean':
        return chance(0.5);
      case 'DateTime':
        return pick(['2026-11-20T10:00:00Z', '2026-11-20T10:00:00+02:00', 'yesterday']);
      default:
        return pick([
          'a',
          'key.delete',
          '',
          '..',
          'c 1',
          '日本',
          '/0/id',
          '/',
          '/events/0',
          'x'.repeat(300),
        ]);
    }
  };

  const argument = ({ name, type }: GraphQLArgument): string => {
    const value = generateValue(type);
    return `${name}: ${chance(0.5) ? variable(String(type), value) : literal(value)}`;
  };

  const directives = (): string => {
    if (!chance(0.15)) return '';
    const condition = chance(0.7) ? variable('Boolean!', chance(0.5)) : String(chance(0.5));
    return ` @${pick(['skip', 'include'])}(if: ${condition})`;
  };

  const fieldOf = (field: GraphQLField<unknown, unknown>, depth: number): string => {
    const alias = chance(0.2)
      ? `${pick(['a', 'b', 'c', 'id'])}${chance(0.5) ? '' : field.name}: `
      : '';
    const given = field.args.filter(({ type }) => String(type).endsWith('!') || chance(0.5));
    const args = given.length === 0 ? '' : `(${given.map(argument).join(', ')})`;
    const type = getNamedType(field.type);
    const below = isObjectType(type) ? ` ${selection(type, depth + 1)}` : '';
    return `${alias}${field.name}${args}${directives()}${below}`;
  };

  const selection = (type: GraphQLObjectType, depth: number): string => {
    const fields = Object.values(type.getFields()).filter(
      ({ name, type: of }) =>
        !name.startsWith('_') && (depth < 5 || isScalarType(getNamedType(of))),
    );
    const parts = Array.from({ length: 1 + Math.floor(random() * 4) }, () => {
      if (chance(0.1))
        return chance(0.5) ? '__typename' : `t${Math.floor(random() * 3)}: __typename`;
      const part = fieldOf(pick(fields), depth);
      if (!chance(0.2)) return part;
      if (chance(0.5))
        return `...${chance(0.5) ? ` on ${type.name}` : ''}${directives()} { ${part} }`;
      const name = `F${fragments.length}`;
      fragments.push(`fragment ${name} on ${type.name} { ${part} }`);
      return `...${name}${directives()} ${chance(0.2) ? `...${name}` : ''}`;
    });
    if (chance(0.01)) parts.push('nope');
    return `{ ${parts.join(' ')} }`;
  };

  const kind = chance(0.7) ? 'query' : 'mutation';
  const root = kind === 'query' ? schema.getQueryType() : schema.getMutationType();
  const fields = Object.values(root?.getFields() ?? {}).filter(({ name }) => !name.startsWith('_'));
  const rootFields = Array.from({ length: kind === 'query' && chance(0.2) ? 2 : 1 }, (_, index) =>
    index === 0
      ? fieldOf(pick(fields), 0)
      : `again: ${fieldOf(pick(fields), 0).replace(/^\w+: /, '')}`,
  );
  const name = chance(0.5) ? ' Generated' : '';
  const head = definitions.length === 0 ? '' : `(${definitions.join(', ')})`;
  const others = name !== '' && chance(0.2) ? ' query Other { __typename }' : '';
  const query = `${kind}${name || (head && ' ')}${head} { ${rootFields.join(' ')} }${others} ${fragments.join(' ')}`;
  const operationName = chance(0.05) ? 'Unknown' : others || chance(0.2) ? 'Generated' : undefined;
  return {
    query,
    ...(chance(0.9) && { variables: plain(variables) }),
    ...(operationName !== undefined &&
      (name !== '' || operationName === 'Unknown') && { operationName }),
  };
}

/** An enum value: a document writes it without quotes. */
class EnumWord {
  readonly word: string;
  constructor(word: string) {
    this.word = word;
  }
  toJSON(): string {
    return this.word;
  }
}

function literal(value: unknown): string {
  if (value instanceof EnumWord) return value.word;
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    return `{${Object.entries(value)
      .map(([name, of]) => `${name}: ${literal(of)}`)
      .join(', ')}}`;
  }
  return JSON.stringify(value);
}

function plain(variables: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return JSON.parse(JSON.stringify(variables));
}
