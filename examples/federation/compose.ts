import { readFileSync, writeFileSync } from 'node:fs';
import { parse } from 'yaml';
import { COMPOSERS, type Subgraph } from './composers.ts';

/** The properties of Rover's `supergraph.yaml` that this script uses. */
type SupergraphConfig = {
  readonly subgraphs: Readonly<
    Record<
      string,
      { readonly routing_url: string; readonly schema: { readonly subgraph_url: string } }
    >
  >;
};

/**
 * Fetches the schemas of the running subgraphs in a `supergraph.yaml`.
 * @throws TypeError if a subgraph returns no schema.
 */
export async function readSubgraphs(yaml: string): Promise<readonly Subgraph[]> {
  const config: SupergraphConfig = parse(yaml);
  return Promise.all(
    Object.entries(config.subgraphs).map(async ([name, { routing_url, schema }]) => ({
      name,
      url: routing_url,
      sdl: await fetchSdl(schema.subgraph_url),
    })),
  );
}

/** Apollo Federation 2, "Subgraph schema specification". Keytrail requires no token for this query. */
async function fetchSdl(url: string): Promise<string> {
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
  const toUrl = (file: string) => new URL(file, import.meta.url);
  try {
    const subgraphs = await readSubgraphs(readFileSync(toUrl('supergraph.yaml'), 'utf8'));
    writeFileSync(toUrl('supergraph.graphql'), COMPOSERS.apollo(subgraphs).sdl);
    const names = new Intl.ListFormat('en').format(subgraphs.map(({ name }) => name));
    console.log(`Wrote supergraph.graphql: ${subgraphs.length} subgraphs, ${names}.`);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
