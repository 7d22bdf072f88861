import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { ROUTERS, renderTable } from './routers.ts';
import { readExample } from './supergraph.ts';

// The example's packages resolve only from its own folder.
const example = createRequire(new URL('../../examples/federation/package.json', import.meta.url));
const { parse }: { parse(text: string): Record<string, unknown> } = example('yaml');

const read = (file: string) => parse(readExample(file));

// These routers do not run here, so the tests check their configuration files.
describe('the settings of the routers that do not run here', () => {
  it('name the same subgraphs and URLs as supergraph.yaml, and subscribe to Keytrail by SSE', () => {
    const { subgraphs } = read('supergraph.yaml');
    const expected = Object.entries(Object(subgraphs)).map(([name, subgraph]) => ({
      name,
      routing_url: Object(subgraph).routing_url,
    }));
    expect(expected).toHaveLength(2);
    const [keytrail, ...others] = expected;
    const subscription = { protocol: 'sse_post' };
    expect(read('cosmo/graph.yaml')).toEqual({
      version: 1,
      subgraphs: [{ ...keytrail, subscription }, ...others],
    });
  });

  it('forward the token, the address and the user agent to Keytrail, and to no other subgraph', () => {
    expect(read('apollo-router.yaml')['headers']).toEqual({
      subgraphs: {
        keytrail: {
          request: {
            operations: ['authorization', 'x-forwarded-for', 'user-agent'].map((named) => ({
              propagate: { named },
            })),
          },
        },
      },
    });
    expect(read('cosmo/config.yaml')['headers']).toEqual({
      subgraphs: {
        keytrail: {
          request: ['Authorization', 'X-Forwarded-For', 'User-Agent'].map((named) => ({
            op: 'propagate',
            named,
          })),
        },
      },
    });
  });

  it('forward Keytrail’s error messages and extensions', () => {
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

  it('disable retries', () => {
    const { traffic_shaping: shaping } = read('cosmo/config.yaml');
    expect(shaping).toEqual({ all: { retry: { enabled: false } } });
  });
});

describe('docs/federation.md', () => {
  const page = readFileSync(new URL('../../docs/federation.md', import.meta.url), 'utf8');

  it('has the table of what each router forwards', () => {
    expect(page).toContain(`\n\n${renderTable()}\n\n`);
  });

  it('lists the script of each router', () => {
    const listed = [
      ...page.matchAll(/^\| .* \| `([\w-]+)` \| .* \| run by `npm run test:federation`/gm),
    ];
    expect(listed.map(([, script]) => script)).toEqual(
      Object.values(ROUTERS).map(({ script }) => script),
    );
  });
});
