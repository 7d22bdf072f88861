import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { readExample } from './supergraph.ts';

// The example has its own packages, which no file outside of it can import by name.
const example = createRequire(new URL('../../examples/federation/package.json', import.meta.url));
const { parse }: { parse(text: string): Record<string, unknown> } = example('yaml');

const read = (file: string) => parse(readExample(file));

// The routers themselves do not run here: these are the promises that can be read from their files.
describe('the settings of the routers that do not run here', () => {
  it('name the subgraphs that Rover is told of, at the same addresses', () => {
    const { subgraphs } = read('supergraph.yaml');
    const told = Object.entries(Object(subgraphs)).map(([name, subgraph]) => ({
      name,
      routing_url: Object(subgraph).routing_url,
    }));
    expect(told).toHaveLength(2);
    expect(read('cosmo/graph.yaml')).toEqual({ version: 1, subgraphs: told });
  });

  it('send Authorization to Keytrail, and to nobody else', () => {
    expect(read('apollo-router.yaml')['headers']).toEqual({
      subgraphs: {
        keytrail: { request: { operations: [{ propagate: { named: 'authorization' } }] } },
      },
    });
    expect(read('cosmo/config.yaml')['headers']).toEqual({
      subgraphs: { keytrail: { request: [{ op: 'propagate', named: 'Authorization' }] } },
    });
  });

  it('hand on what Keytrail says of a failure', () => {
    expect(read('apollo-router.yaml')['include_subgraph_errors']).toEqual({
      all: false,
      subgraphs: { keytrail: true },
    });
    const { subgraph_error_propagation: errors } = read('cosmo/config.yaml');
    expect(errors).toEqual({
      mode: 'pass-through',
      allowed_extension_fields: [
        'code',
        'retryable',
        'retryAfterSeconds',
        'reason',
        'upstream',
        'requestId',
      ],
    });
  });

  it('repeat nothing that may not be repeated', () => {
    const { traffic_shaping: shaping } = read('cosmo/config.yaml');
    expect(shaping).toEqual({ all: { retry: { enabled: false } } });
  });
});
