import { once } from 'node:events';
import { createRequire } from 'node:module';
import { expect } from 'vitest';
import { codeOf, type Result } from '../helpers/gateway.ts';
import { type Service, startService } from '../helpers/service.ts';

/** The folder of the examples. */
export const EXAMPLES = new URL('../../examples/frameworks/', import.meta.url);

/** Loads a package of the examples: they resolve only from their folder. */
export const load = createRequire(new URL('package.json', EXAMPLES));

/** A query that calls the service. */
export const AUDIT = '{"query":"{ audit { totalCount } }"}';

/** Sends a body of JSON. A stream has no `content-length`. */
export async function post(
  url: string,
  body: string | ReadableStream,
  headers: Readonly<Record<string, string>> = {},
): Promise<Result<unknown>> {
  const request = { method: 'POST', headers: { ...HEADERS, ...headers }, body, duplex: 'half' };
  const response = await fetch(url, request);
  const { status } = response;
  const text = await response.text();
  return { status, headers: response.headers, text, ...(text.startsWith('{') && JSON.parse(text)) };
}

const HEADERS = { 'content-type': 'application/json', authorization: 'Bearer t' };

/** Expects that GraphQL works at a URL: by POST, prepared or not, by GET, and up to its limits. The service has no events. */
export async function expectGraphql(url: string): Promise<void> {
  for (const _ of [1, 2, 3])
    expect((await post(url, AUDIT)).data).toEqual({ audit: { totalCount: 0 } });
  expect((await post(url, new Blob([AUDIT]).stream())).data).toEqual({ audit: { totalCount: 0 } });
  const get = await fetch(
    `${url}?query=query($a:Boolean!){__typename@include(if:$a)}&variables={"a":true}`,
  );
  expect(await get.json()).toEqual({ data: { __typename: 'Query' } });
  const large = JSON.stringify({ query: `{__typename} #${' '.repeat(70_000)}` });
  for (const body of [large, new Blob([large]).stream()]) {
    const result = await post(url, body);
    expect([result.status, codeOf(result)]).toEqual([413, 'BAD_REQUEST']);
  }
  expect((await post(url, AUDIT)).status).toBe(200);
}

/** Expects that a preflight from the origin is allowed, and that HEAD and a deletion by GET do nothing. */
export async function expectMethods(url: string, origin: string): Promise<void> {
  const headers = { origin, 'access-control-request-method': 'POST' };
  const preflight = await fetch(url, { method: 'OPTIONS', headers });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get('access-control-allow-origin')).toBe(origin);
  const mutation = 'mutation{deleteApiKey(clientId:"k"){outcome}}';
  for (const method of ['GET', 'HEAD'])
    expect((await fetch(`${url}?query=${mutation}`, { method })).status).toBe(405);
}

/** A service without events. It never responds to the token `slow`. */
export async function startSlowService(): Promise<Service & { readonly aborted: () => number }> {
  let aborted = 0;
  const service = await startService(async ({ headers }, response) => {
    if (headers.authorization !== 'Bearer slow') return { body: [] };
    await once(response, 'close');
    aborted += 1;
    return undefined;
  });
  return { ...service, aborted: () => aborted };
}

/** Expects that the call to the service is aborted when a client disconnects. */
export async function expectAbort(
  url: string,
  service: Awaited<ReturnType<typeof startSlowService>>,
): Promise<void> {
  const before = service.seen.length;
  const leaving = new AbortController();
  const headers = { ...HEADERS, authorization: 'Bearer slow' };
  const { signal } = leaving;
  const response = fetch(url, { method: 'POST', headers, body: AUDIT, signal });
  await expect.poll(() => service.seen.length).toBe(before + 1);
  expect(service.aborted()).toBe(0);
  leaving.abort(new Error('left'));
  await expect(response).rejects.toThrow('left');
  await expect.poll(service.aborted).toBe(1);
}
