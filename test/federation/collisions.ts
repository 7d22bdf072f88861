/** A subgraph that does not compose with Keytrail, and how it does: a row of the table in docs/existing-graph.md. */
type Collision = {
  /** What the other subgraph has. */
  readonly has: string;
  /** Its schema, without the link to federation. */
  readonly sdl: string;
  /** Either what is cut out of Keytrail's schema, */
  readonly cut?: readonly string[];
  /** or what the other subgraph changes, and its schema afterwards. */
  readonly change?: { readonly text: string; readonly sdl: string };
};

const pageInfo = (fields: string, directive = '@shareable') => `
  type Query { users(first: Int): UserConnection! }
  type UserConnection { nodes: [ID!]! pageInfo: PageInfo! }
  type PageInfo ${directive} { ${fields} }`;

const PAGE_INFO =
  'hasNextPage: Boolean! hasPreviousPage: Boolean! startCursor: String endCursor: String';

const apiKey = (key: string, fields: string) => `
  type Query { keys: [ApiKey!]! }
  type ApiKey ${key} { id: ID! name: String ${fields} }`;

/** What collides, in the order of the table. */
export const COLLISIONS: readonly Collision[] = [
  {
    has: '`Query.audit`, `Mutation.login` or another root field',
    sdl: 'type Query { audit: [String!]! } type Mutation { login(user: ID!): String! }',
    cut: ['Query.audit', 'Mutation.login'],
  },
  {
    has: 'a type `AuditEvent`, or another type of the trail',
    sdl: 'type Query { events: [AuditEvent!]! } type AuditEvent { id: ID! message: String! }',
    cut: ['Query.audit', 'Subscription.auditEvents', 'ApiKey.audit'],
  },
  {
    has: 'an `ApiKey` with another key, for the same keys',
    sdl: apiKey('@key(fields: "id")', ''),
    change: {
      text: 'a second key there: `@key(fields: "clientId")`',
      sdl: apiKey('@key(fields: "id") @key(fields: "clientId")', 'clientId: ID!'),
    },
  },
  {
    has: 'an `ApiKey` that is something else',
    sdl: apiKey('@key(fields: "id")', ''),
    cut: ['ApiKey'],
  },
  {
    has: 'a `PageInfo` that is not shareable',
    sdl: pageInfo(PAGE_INFO, ''),
    change: { text: '`@shareable` there', sdl: pageInfo(PAGE_INFO) },
  },
  {
    has: 'a `PageInfo` without `startCursor`',
    sdl: pageInfo(PAGE_INFO.replace('startCursor: String', '')),
    cut: ['PageInfo.startCursor'],
  },
  {
    has: 'a `PageInfo` with more fields',
    sdl: pageInfo(`${PAGE_INFO} total: Int`),
    change: {
      text: '`@inaccessible` there on those fields, or a type with another name',
      sdl: pageInfo(`${PAGE_INFO} total: Int @inaccessible`),
    },
  },
];

/** Renders the table in docs/existing-graph.md. */
export function renderCollisions(): string {
  const rows = COLLISIONS.map(({ has, cut, change }) => [
    has,
    change?.text ?? `cut ${cut?.map((name) => `\`${name}\``).join(', ')}`,
  ]);
  return [['the other subgraph has', 'way out'], ['---', '---'], ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
    .replace('| --- | --- |', '|---|---|');
}
