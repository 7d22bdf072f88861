import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'graphql';
import { beforeEach, describe, expect, it } from 'vitest';
import { startApolloGateway } from '../../examples/federation/apollo-gateway.ts';
import { COMPOSERS, type Subgraph } from '../../examples/federation/composers.ts';
import { cut } from '../../examples/federation/cut.ts';
import { codeOf } from '../helpers/gateway.ts';
import type { Handler } from '../helpers/service.ts';
import { COLLISIONS, renderCollisions } from './collisions.ts';
import { copyExample, type ExampleCopy, runScript, startScript } from './example-copy.ts';
import { ROUTERS } from './routers.ts';
import { ask, type Subgraphs, startSubgraphs, subscribe } from './supergraph.ts';

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

/** What `npm --silent start -- schema` prints. */
const SDL = read('schema.graphql');
const PAGE = read('docs/existing-graph.md');

const RECORD = { id: 'event-1', actor: { id: 'demo-admin' } };
const respond: Handler = ({ method }) => (method === 'GET' ? { body: [RECORD] } : { status: 204 });

/** What leads to `AuditEvent`. */
const TRAIL = ['Query.audit', 'Subscription.auditEvents', 'ApiKey.audit'];

const keytrail = (sdl: string): Subgraph => ({
  name: 'keytrail',
  url: 'http://127.0.0.1:4000/graphql',
  sdl,
});

const other = (sdl: string): Subgraph => ({
  name: 'other',
  url: 'http://127.0.0.1:4003/graphql',
  sdl: `extend schema @link(
    url: "https://specs.apollo.dev/federation/v2.6", import: ["@inaccessible", "@key", "@shareable"]
  ) ${sdl}`,
});

describe('cut.ts', () => {
  it('cuts a field, and the types to which no other field leads', () => {
    const types = (sdl: string) =>
      [...sdl.matchAll(/^(?:type|enum|input|scalar) (\w+)/gm)].map(([, name]) => name);
    expect(types(cut(SDL, TRAIL))).toEqual([
      ...['ApiKey', 'DateTime', 'DeleteApiKeyPayload', 'DeletionOutcome', 'JSON'],
      ...['LoginCredential', 'LoginPayload', 'Mutation'],
    ]);
    expect(types(cut(SDL, ['PageInfo.startCursor']))).toEqual(types(SDL));
  });

  it('cuts a type with every field of that type', () => {
    const left = cut(SDL, ['ApiKey']);
    expect(left).not.toMatch(/\bApiKey\b/);
    expect(left).toContain('type AuditParty {');
  });

  it('reports names that the schema does not have', () => {
    expect(() => cut(SDL, ['Query.audit', 'Query.nope', 'Nope'])).toThrow(
      'The schema does not have Query.nope, Nope.',
    );
  });
});

describe.each(Object.entries(COMPOSERS))('the composer %s', (_, compose) => {
  it.each(COLLISIONS)('rejects $has, until the way out is taken', ({ sdl, cut: names, change }) => {
    expect(() => compose([keytrail(SDL), other(sdl)])).toThrow(/do not compose/);
    const { api } = compose([
      keytrail(names === undefined ? SDL : cut(SDL, names)),
      other(change?.sdl ?? sdl),
    ]);
    expect(parse(api).definitions.length).toBeGreaterThan(5);
  });

  it('merges `DateTime` and `JSON` of another subgraph', () => {
    const sdl = 'type Query { now: DateTime any: JSON } scalar JSON scalar DateTime';
    expect(() => compose([keytrail(SDL), other(sdl)])).not.toThrow();
  });
});

it('finds nothing by a fragment on a type that was renamed in the file, although that composes', async () => {
  await using graph = await startSubgraphs({ body: [RECORD] });
  const sdl = SDL.replaceAll(/\bAuditEvent\b/g, 'KeytrailAuditEvent');
  const { sdl: supergraphSdl } = COMPOSERS.apollo([keytrail(sdl)]);
  await using router = await startApolloGateway({
    supergraphSdl: graph.toTestUrls(supergraphSdl),
    port: 0,
  });
  const fragment = 'fragment Event on KeytrailAuditEvent { __typename id }';
  const options = { authorization: 'Bearer of-keytrail' };
  const renamed = await ask(router.url, `{ audit { nodes { ...Event } } } ${fragment}`, options);
  expect(renamed.text).not.toContain('event-1');
  const plain = await ask(router.url, '{ audit { nodes { id } } }', options);
  expect(plain.data).toEqual({ audit: { nodes: [{ id: 'event-1' }] } });
});

/** The token that the graph's own `login` returns. */
const GRAPH_TOKEN = { authorization: 'Bearer graph-token-of-ann' };
const BOTH_TOKENS = {
  ...GRAPH_TOKEN,
  headers: { 'x-keytrail-authorization': 'Bearer of-keytrail' },
};

/** The lines of docs/existing-graph.md for the two tokens, by the file of the example that has the settings. */
const TWO_TOKENS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'forwarded-headers.ts': {
    "authorization: 'authorization',": "authorization: 'x-keytrail-authorization',",
    '  keytrail: {\n': "  identity: { authorization: 'authorization' },\n  keytrail: {\n",
  },
  'grafbase.toml': {
    'name = "authorization"': 'name = "x-keytrail-authorization"\nrename = "authorization"',
    '[subgraphs.owners]\n':
      '[[subgraphs.identity.headers]]\nrule = "forward"\nname = "authorization"\n\n[subgraphs.identity]\n',
  },
};

/** Copies the example into a graph with the subgraph `identity`, and forwards both tokens. */
async function copyForExistingGraph(graph: Subgraphs): Promise<ExampleCopy> {
  const copy = await copyExample(graph);
  for (const [file, lines] of Object.entries(TWO_TOKENS)) await copy.replace(file, lines);
  return copy;
}

/** Composes Keytrail without the names that `identity` has as well. Writes the files of a supergraph and of Grafbase. */
async function composeWithCut({ folder, replace }: ExampleCopy, graph: Subgraphs): Promise<void> {
  await writeFile(join(folder, 'keytrail.graphql'), cut(SDL, ['Mutation.login', ...TRAIL]));
  const owners = graph.toTestUrls('http://127.0.0.1:4002/graphql');
  const identity = graph.toTestUrls('http://127.0.0.1:4003/graphql');
  await replace('supergraph.yaml', {
    [`subgraph_url: ${graph.keytrail}`]: 'file: keytrail.graphql',
    'owners:': 'identity:',
    [owners]: identity,
  });
  await runScript(folder, 'compose');
  await replace('grafbase.toml', {
    [`introspection_url = "${graph.keytrail}"`]: `url = "${graph.keytrail}"\nschema_path = "${folder}/keytrail.graphql"`,
    [owners]: identity,
  });
}

/** Sends what a client with both tokens sends. Keytrail's names may have a prefix. */
async function expectBothTokens(graph: Subgraphs, url: string, prefix: string): Promise<void> {
  const { data: session } = await ask(url, 'mutation { login(user: "ann") }');
  expect(session).toEqual({ login: GRAPH_TOKEN.authorization.slice('Bearer '.length) });
  const { data: own } = await ask(url, '{ me { name } events { __typename id } }', BOTH_TOKENS);
  expect(own).toEqual({ me: { name: 'ann' }, events: [{ __typename: 'AuditEvent', id: '1' }] });

  const deletion = `mutation { ${prefix}deleteApiKey(clientId: "k") { outcome } }`;
  expect(codeOf(await ask(url, deletion, GRAPH_TOKEN))).toBe('UNAUTHENTICATED');
  expect(graph.service.seen).toHaveLength(0);
  const { data: deleted } = await ask(url, deletion, BOTH_TOKENS);
  expect(deleted).toEqual({ [`${prefix}deleteApiKey`]: { outcome: 'DELETED' } });
}

/** Asserts that the service got only Keytrail's token, and the other subgraph only that of the graph. */
function expectTokensApart({ service, identityQueries }: Subgraphs): void {
  const tokens = service.seen.map(({ headers }) => headers.authorization);
  expect(new Set(tokens)).toEqual(new Set(['Bearer of-keytrail']));
  expect(service.seen.flatMap(({ rawHeaders }) => rawHeaders).join()).not.toContain('graph-token');
  const identity = identityQueries().flatMap(({ rawHeaders }) => rawHeaders);
  expect(identity).toContain(GRAPH_TOKEN.authorization);
  expect(identity.join()).not.toContain('of-keytrail');
}

describe.each(['Apollo Gateway', 'Hive Gateway', 'Stitched schema', 'Grafbase Gateway'])(
  '%s in a graph with a `login`, an `AuditEvent` and a token of its own',
  (name) => {
    const { script = '', missing } = ROUTERS[name] ?? {};
    beforeEach(({ skip }) => skip(missing !== undefined, missing));

    it('serves Keytrail without these names, and each subgraph gets its own token', async () => {
      await using graph = await startSubgraphs({ status: 204 });
      await using copy = await copyForExistingGraph(graph);
      await composeWithCut(copy, graph);
      await using router = await startScript(copy.folder, script);
      await expectBothTokens(graph, router.url, '');
      expectTokensApart(graph);
    });
  },
);

/** Reads and follows the trail by the names with a prefix, in one request with data of the other subgraph. */
async function expectPrefixedTrail(url: string, type: string): Promise<void> {
  const { data } = await ask(
    url,
    `query ($filter: ${type}Filter) {
      me { name }
      events { __typename message }
      keytrail_audit(filter: $filter) { nodes { ...Event } }
    }
    fragment Event on ${type}Event { __typename id actor { identifier } }`,
    { ...BOTH_TOKENS, variables: { filter: { actor: 'demo-admin' } } },
  );
  expect(data).toEqual({
    me: { name: 'ann' },
    events: [{ __typename: 'AuditEvent', message: 'ann signed up' }],
    keytrail_audit: {
      nodes: [{ __typename: `${type}Event`, id: 'event-1', actor: { identifier: 'demo-admin' } }],
    },
  });
  const disconnecting = new AbortController();
  const { payloads } = await subscribe(url, {
    ...BOTH_TOKENS,
    field: 'keytrail_auditEvents',
    signal: disconnecting.signal,
  });
  const { value: first } = await payloads.next();
  expect(first).toMatchObject({ data: { auditEvents: { nodes: [], previous: null } } });
  disconnecting.abort();
}

describe.each(['Hive Gateway', 'Hive Gateway, Rust planner'])('%s with mesh.config.ts', (name) => {
  it('serves all of Keytrail by names with a prefix, even without introspection', async () => {
    await using graph = await startSubgraphs(respond, { introspection: false });
    await using copy = await copyForExistingGraph(graph);
    await runScript(copy.folder, 'compose-prefixed');
    await using router = await startScript(copy.folder, ROUTERS[name]?.script ?? '');
    await expectBothTokens(graph, router.url, 'keytrail_');
    await expectPrefixedTrail(router.url, 'keytrail_Audit');
    expectTokensApart(graph);
  });
});

describe('remote-schema.ts', () => {
  it('stitches all of Keytrail by names with a prefix, even without introspection', async () => {
    await using graph = await startSubgraphs(respond, { introspection: false });
    await using copy = await copyForExistingGraph(graph);
    await using router = await startScript(copy.folder, 'remote');
    await expectBothTokens(graph, router.url, 'keytrail_');
    await expectPrefixedTrail(router.url, 'KeytrailAudit');
    expectTokensApart(graph);
  });
});

describe('docs/existing-graph.md', () => {
  it('has the table of what collides', () => {
    expect(PAGE).toContain(`\n\n${renderCollisions()}\n\n`);
  });

  it('has the lines for the second token', () => {
    const lines = Object.values(TWO_TOKENS).flatMap((each) =>
      Object.values(each).join('\n').split('\n'),
    );
    for (const line of lines.filter((each) => each.includes('authorization')))
      expect(PAGE).toContain(line.trim());
  });
});
