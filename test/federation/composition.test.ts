import { buildASTSchema, isInputObjectType, isObjectType, isScalarType, parse } from 'graphql';
import { describe, expect, it } from 'vitest';
import { readSubgraphs } from '../../examples/federation/compose.ts';
import { COMPOSERS, type Subgraph } from '../../examples/federation/composers.ts';
import { readExample, startSubgraphs } from './supergraph.ts';

/** A third subgraph, with its own connection and `PageInfo`. */
function reports(pageInfo: string): Subgraph {
  return {
    name: 'reports',
    url: 'http://127.0.0.1:4003/graphql',
    sdl: `
      extend schema @link(url: "https://specs.apollo.dev/federation/v2.6", import: ["@shareable"])
      type Query { reports(first: Int): ReportConnection! }
      type ReportConnection { edges: [ReportEdge!]! pageInfo: PageInfo! }
      type ReportEdge { cursor: String! node: Report! }
      type Report { title: String! }
      type PageInfo ${pageInfo} {
        hasNextPage: Boolean! hasPreviousPage: Boolean! startCursor: String endCursor: String
      }`,
  };
}

function fieldsOf(api: string, name: string): readonly string[] {
  const type = buildASTSchema(parse(api)).getType(name);
  return isObjectType(type) || isInputObjectType(type) ? Object.keys(type.getFields()).sort() : [];
}

function isOneOf(api: string, name: string): boolean {
  const type = buildASTSchema(parse(api)).getType(name);
  return isInputObjectType(type) && type.isOneOf;
}

function specificationOf(api: string, name: string): string | null | undefined {
  const type = buildASTSchema(parse(api)).getType(name);
  return isScalarType(type) ? type.specifiedByURL : null;
}

/** Apollo's drops `@oneOf`: clients see two optional fields, and Keytrail rejects a login without exactly one. */
const KEEPS_ONE_OF: ReadonlySet<string> = new Set(['hive', 'cosmo']);

/** Cosmo's drops `@specifiedBy`. */
const KEEPS_SPECIFIED_BY: ReadonlySet<string> = new Set(['apollo', 'hive']);

describe.each(Object.entries(COMPOSERS))('the composer %s', (name, compose) => {
  it('merges the fields that both subgraphs have of a key', async () => {
    await using servers = await startSubgraphs();
    const { api } = compose(
      await readSubgraphs(servers.toTestUrls(readExample('supergraph.yaml'))),
    );
    expect(fieldsOf(api, 'ApiKey')).toEqual(['audit', 'clientId', 'owner']);
    expect(fieldsOf(api, 'Query')).toEqual(['apiKeys', 'audit', 'ownersConnection']);
    expect(fieldsOf(api, 'Mutation')).toEqual(['deleteApiKey', 'login']);
    expect(fieldsOf(api, 'Subscription')).toEqual(['auditEvents']);
    expect(fieldsOf(api, 'AuditEventBatch')).toEqual([
      ...['checkpoint', 'hasMore', 'missed', 'nodes', 'previous'],
    ]);
    expect(fieldsOf(api, 'AuditParty')).toContain('apiKey');
    expect(fieldsOf(api, 'LoginCredential')).toEqual(['clientSecret', 'refreshToken']);
    expect(isOneOf(api, 'LoginCredential')).toBe(KEEPS_ONE_OF.has(name));
    const specification = 'https://scalars.graphql.org/andimarek/date-time.html';
    expect(specificationOf(api, 'DateTime')).toBe(
      KEEPS_SPECIFIED_BY.has(name) ? specification : undefined,
    );
  });

  it('accepts a third subgraph with its own PageInfo only if that is shareable', async () => {
    await using servers = await startSubgraphs();
    const subgraphs = await readSubgraphs(servers.toTestUrls(readExample('supergraph.yaml')));
    const { api } = compose([...subgraphs, reports('@shareable')]);
    expect(fieldsOf(api, 'Query')).toContain('reports');
    expect(fieldsOf(api, 'PageInfo')).toHaveLength(4);
    expect(() => compose([...subgraphs, reports('')])).toThrow(/shareable/);
  });
});

describe('supergraph.graphql', () => {
  it('is what compose.ts generates from the running subgraphs, even without introspection', async () => {
    await using servers = await startSubgraphs({}, { introspection: false });
    const subgraphs = await readSubgraphs(servers.toTestUrls(readExample('supergraph.yaml')));
    const { sdl } = COMPOSERS.apollo(subgraphs);
    expect(servers.toExampleUrls(sdl)).toBe(readExample('supergraph.graphql'));
  });
});
