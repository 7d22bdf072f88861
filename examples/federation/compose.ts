import { readFileSync, writeFileSync } from 'node:fs';
import { parse } from 'yaml';
import { COMPOSERS, type Subgraph } from './composers.ts';

/** The part of Rover's `supergraph.yaml` that is read here. */
type SupergraphConfig = {
  readonly subgraphs: Readonly<
    Record<
      string,
      { readonly routing_url: string; readonly schema: { readonly subgraph_url: string } }
    >
  >;
};

/**
 * Asks the running subgraphs that a `supergraph.yaml` names for their schemas.
 * @throws TypeError when one gives none.
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

/** Apollo Federation 2, "Subgraph schema specification". It takes no token. */
async function fetchSdl(url: string): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ _service { sdl } }' }),
  });
  const { data } = await response.json();
  const sdl: unknown = data?._service?.sdl;
  if (typeof sdl !== 'string') throw new TypeError(`${url} gives no schema.`);
  return sdl;
}

if (import.meta.main) {
  const place = (file: string) => new URL(file, import.meta.url);
  const subgraphs = await readSubgraphs(readFileSync(place('supergraph.yaml'), 'utf8'));
  writeFileSync(place('supergraph.graphql'), COMPOSERS.apollo(subgraphs).sdl);
}
