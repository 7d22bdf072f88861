import { writeFileSync } from 'node:fs';
import { parse } from 'yaml';
import { COMPOSERS, type Subgraph } from './composers.ts';
import { readLocal } from './serve.ts';

/** The properties of Rover's `supergraph.yaml` that this script uses. */
type SupergraphConfig = {
  readonly subgraphs: Readonly<
    Record<
      string,
      {
        readonly routing_url: string;
        readonly schema: { readonly subgraph_url: string } | { readonly file: string };
      }
    >
  >;
};

/**
 * Reads the schemas of the subgraphs in a `supergraph.yaml`: of a running subgraph, or from a file of this folder.
 * @throws TypeError if a subgraph returns no schema.
 */
export async function readSubgraphs(yaml: string): Promise<readonly Subgraph[]> {
  const config: SupergraphConfig = parse(yaml);
  return Promise.all(
    Object.entries(config.subgraphs).map(async ([name, { routing_url, schema }]) => ({
      name,
      url: routing_url,
      sdl: 'file' in schema ? readLocal(schema.file) : await fetchSdl(schema.subgraph_url),
    })),
  );
}

/**
 * Apollo Federation 2, "Subgraph schema specification". Keytrail requires no token for this query.
 * @throws TypeError if the response has no schema.
 */
export async function fetchSdl(url: string): Promise<string> {
  const response = fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ _service { sdl } }' }),
  });
  const result = await response.then((response) => response.json()).catch(() => null);
  const sdl: unknown = result?.data?._service?.sdl;
  if (typeof sdl !== 'string')
    throw new TypeError(`${url} returned no schema: check that a subgraph is running there.`);
  return sdl;
}

if (import.meta.main) {
  try {
    const subgraphs = await readSubgraphs(readLocal('supergraph.yaml'));
    const file = new URL('supergraph.graphql', import.meta.url);
    writeFileSync(file, COMPOSERS.apollo(subgraphs).sdl);
    const names = new Intl.ListFormat('en').format(subgraphs.map(({ name }) => name));
    console.log(`Wrote supergraph.graphql: ${subgraphs.length} subgraphs, ${names}.`);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
