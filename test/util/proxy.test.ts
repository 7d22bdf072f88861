import fc from 'fast-check';
import { EnvHttpProxyAgent, Pool } from 'undici';
import { expect, it } from 'vitest';
import { proxyFor } from '../../src/util/proxy.ts';

const PROXY = 'http://proxy.example:3128';

it.each([
  ['https://a.example', { httpsProxy: PROXY }, PROXY],
  ['https://a.example', { httpProxy: PROXY }, undefined],
  ['http://a.example', { httpProxy: PROXY }, PROXY],
  ['http://a.example', { httpsProxy: PROXY }, undefined],
  ['http://localhost:4000', { httpProxy: PROXY }, undefined],
  ['http://127.1.2.3', { httpProxy: PROXY }, undefined],
  ['https://[::1]', { httpsProxy: PROXY }, undefined],
  ['https://a.example', { httpsProxy: PROXY, noProxy: 'example' }, undefined],
  ['https://a.example', { httpsProxy: PROXY, noProxy: '*.a.example' }, PROXY],
  ['https://b.a.example', { httpsProxy: PROXY, noProxy: '*.a.example' }, undefined],
  ['https://A.example.', { httpsProxy: PROXY, noProxy: ' .A.EXAMPLE. ' }, undefined],
  ['https://ba.example', { httpsProxy: PROXY, noProxy: 'a.example' }, PROXY],
  ['https://a.example', { httpsProxy: PROXY, noProxy: 'a.example:8443' }, PROXY],
  ['https://a.example:8443', { httpsProxy: PROXY, noProxy: 'a.example:8443' }, undefined],
  ['https://[2001:db8::1]', { httpsProxy: PROXY, noProxy: '[2001:db8::1]:443' }, undefined],
  ['https://[2001:db8::1]', { httpsProxy: PROXY, noProxy: '2001:db8::1' }, undefined],
  ['https://10.1.2.3', { httpsProxy: PROXY, noProxy: '10.0.0.0/8' }, PROXY],
])('the proxy for %s with %j is %s', (url, options, expected) => {
  expect(proxyFor(new URL(url), options)).toBe(expected);
});

/** Whether undici connects to a URL without a proxy. */
async function isDirectByUndici(url: URL, noProxy: string): Promise<boolean> {
  let isDirect: boolean | undefined;
  const connect = () => {};
  const agent = new EnvHttpProxyAgent({
    ...{ httpProxy: PROXY, httpsProxy: PROXY, noProxy, connect },
    // A proxy has a connector of its own.
    factory: (_, options: { readonly connect?: unknown }) => {
      isDirect ??= options.connect === connect;
      throw new Error('not connected');
    },
    clientFactory: (origin) => new Pool(origin),
  });
  try {
    agent.dispatch({ origin: url.origin, path: '/', method: 'GET' }, {});
  } catch {} // of the factory
  await agent.destroy();
  if (isDirect === undefined) throw new Error('No connection was opened.');
  return isDirect;
}

it('a list of hosts excludes what undici excludes by it', async () => {
  const label = fc.constantFrom('a', 'b', 'A', 'ab', 'example');
  const name = fc.array(label, { minLength: 1, maxLength: 3 }).map((labels) => labels.join('.'));
  const host = fc.oneof(name, fc.constantFrom('10.0.0.1', '[2001:db8::1]', '[fe80::2]'));
  const entry = fc
    .tuple(fc.constantFrom('', '.', '*.', '*'), host, fc.constantFrom('', '.'))
    .map((parts) => parts.join(''));
  const port = fc.constantFrom('', ':80', ':443', ':8443', ':0');
  const item = fc.oneof(
    fc.tuple(entry, port).map((parts) => parts.join('')),
    fc.constantFrom('*', '*:443', '2001:db8::1', ':80', '10.0.0.0/8', '.', '', 'a:b'),
  );
  const list = fc.array(item, { maxLength: 4 }).map((items) => items.join(','));
  const url = fc
    .tuple(
      fc.constantFrom('http', 'https'),
      fc.oneof(
        host,
        name.map((own) => `${own}.`),
      ),
      fc.constantFrom('', ':80', ':8443'),
    )
    .map(([scheme, name, at]) => new URL(`${scheme}://${name}${at}`));
  await fc.assert(
    fc.asyncProperty(url, list, async (to, noProxy) => {
      const own = proxyFor(to, { httpProxy: PROXY, httpsProxy: PROXY, noProxy });
      expect(own).toBe((await isDirectByUndici(to, noProxy)) ? undefined : PROXY);
    }),
    { numRuns: 500 },
  );
});
