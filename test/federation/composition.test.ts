import { buildASTSchema, isInputObjectType, isObjectType, parse } from 'graphql';
import { describe, expect, it } from 'vitest';
import { readSubgraphs } from '../../examples/federation/compose.ts';
import { COMPOSERS, type Subgraph } from '../../examples/federation/composers.ts';
import { readExample, startSubgraphs } from './supergraph.ts';

/** A third subgraph, with a page of its own. */
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

/** Apollo's drops `@oneOf`: its clients see two optional fields, and Keytrail refuses what is not exactly one. */
const KEEPS_ONE_OF: ReadonlySet<string> = new Set(['hive', 'cosmo']);

describe.each(Object.entries(COMPOSERS))('the composer %s', (name, compose) => {
  it('joins what both subgraphs say of a key', async () => {
    await using here = await startSubgraphs();
    const { api } = compose(await readSubgraphs(here.moveHere(readExample('supergraph.yaml'))));
    expect(fieldsOf(api, 'ApiKey')).toEqual(['audit', 'clientId', 'owner']);
    expect(fieldsOf(api, 'Query')).toEqual(['apiKeys', 'audit', 'ownersConnection']);
    expect(fieldsOf(api, 'Mutation')).toEqual(['deleteApiKey', 'login']);
    expect(fieldsOf(api, 'LoginCredential')).toEqual(['clientSecret', 'refreshToken']);
    expect(isOneOf(api, 'LoginCredential')).toBe(KEEPS_ONE_OF.has(name));
  });

  it('takes a third subgraph with a PageInfo of its own, when that is shareable', async () => {
    await using here = await startSubgraphs();
    const two = await readSubgraphs(here.moveHere(readExample('supergraph.yaml')));
    const { api } = compose([...two, reports('@shareable')]);
    expect(fieldsOf(api, 'Query')).toContain('reports');
    expect(fieldsOf(api, 'PageInfo')).toHaveLength(4);
    expect(() => compose([...two, reports('')])).toThrow(/shareable/);
  });
});

describe('supergraph.graphql', () => {
  it('is what compose.ts makes of the running subgraphs, introspection or not', async () => {
    await using here = await startSubgraphs({}, { introspection: false });
    const subgraphs = await readSubgraphs(here.moveHere(readExample('supergraph.yaml')));
    const { sdl } = COMPOSERS.apollo(subgraphs);
    expect(here.moveBack(sdl)).toBe(readExample('supergraph.graphql'));
  });
});
