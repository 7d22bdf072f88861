import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { targetOf } from '../../../src/gateway/http/request-head.ts';
import { gatewayOver, onPort } from '../../helpers/gateway.ts';
import { sendRaw } from '../../helpers/raw-socket.ts';
import { serve } from '../../helpers/serve.ts';
import { startService } from '../../helpers/service.ts';

const NOWHERE = 'http://127.0.0.1:9';
const AUDIT = '{"query": "{ audit { totalCount } }"}';

const request = (line: string, body = '', host = 'gateway.example') =>
  [
    `${line} HTTP/1.1`,
    ...(host === '' ? [] : [`host: ${host}`]),
    ...['connection: close', 'authorization: Bearer t', 'content-type: application/json'],
    ...[`content-length: ${body.length}`, '', body],
  ].join('\r\n');

describe('a request target in absolute form', () => {
  it.each([
    'http://gateway.example/graphql',
    'http://other.example:8080/graphql',
    'https://gateway.example/graphql',
    'HTTP://GATEWAY.EXAMPLE/graphql',
    'http://192.0.2.1/graphql',
    'http://[2001:db8::1]:4000/graphql',
    'http://gateway.example:/graphql',
    'http://gateway.example:99999/graphql',
  ])('is taken by its path, on both paths: %s', async (target) => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url);
    await using server = await onPort(gateway);
    for (const _ of [1, 2, 3])
      expect(await sendRaw(server.url, request(`POST ${target}`, AUDIT))).toContain(
        '{"data":{"audit":{"totalCount":0}}}',
      );
    expect(gateway.logged.join()).toContain('"prepared":true');
    expect(service.seen).toHaveLength(3);
  });

  it.each([
    ['GET http://k/graphql?query={__typename}', '200', '{"data":{"__typename":"Query"}}'],
    ['GET http://k/health/live', '200', '{"status":"live"}'],
    ['POST http://k/graphql/', '404', 'GraphQL is at /graphql'],
    ['POST http://k/./graphql', '404', 'GraphQL is at /graphql'],
    ['POST http://k//graphql', '404', 'GraphQL is at /graphql'],
    ['POST http://k/other?x=http://k/graphql', '404', 'GraphQL is at /graphql'],
    ['GET http://k', '404', 'GraphQL is at /graphql'],
    ['GET http://k?query={__typename}', '404', 'GraphQL is at /graphql'],
    ['POST http://u:p@k/graphql', '400', 'must be a path'],
    ['POST http:///graphql', '400', 'must be a path'],
    ['POST ftp://k/graphql', '400', 'must be a path'],
    ['OPTIONS *', '400', 'must be a path'],
  ])('%s gets %s', async (line, status, expected) => {
    await using gateway = gatewayOver(NOWHERE);
    await using server = await onPort(gateway);
    const response = await sendRaw(server.url, request(line));
    expect(response).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    // Node's own parser may reject it before.
    if (status !== '400' || response.includes('{')) expect(response).toContain(expected);
  });

  it.each(['', 'a b', 'evil/x'])(
    'does not replace the Host header: with %j it gets 400',
    async (host) => {
      await using gateway = gatewayOver(NOWHERE);
      await using server = await onPort(gateway);
      const response = await sendRaw(
        server.url,
        request('POST http://gateway.example/graphql', AUDIT, host),
      );
      expect(response).toMatch(/^HTTP\/1.1 400 .*Host header/s);
    },
  );

  it('is taken by a gateway that a program mounts, and left to the program at another path', async () => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url, { draining: null, path: '/api/graphql' });
    await using server = await serve((incoming, response) =>
      gateway.handle(incoming, response, () => response.end('the program')),
    );
    const send = (target: string) => sendRaw(server.url, request(`POST ${target}`, AUDIT));
    expect(await send('http://k/api/graphql')).toContain('{"data":{"audit":{"totalCount":0}}}');
    for (const target of ['http://k/graphql', 'http://api/graphql'])
      expect(await send(target)).toContain('the program');
  });

  it('has the path that the same request has in origin form', () => {
    const host = fc.oneof(
      fc.domain(),
      fc.ipV4(),
      fc.ipV6().map((ip) => `[${ip}]`),
    );
    const authority = fc
      .tuple(host, fc.option(fc.integer({ min: 0, max: 65_535 })))
      .map(([name, port]) => (port === null ? name : `${name}:${port}`));
    const path = fc
      .tuple(fc.webPath(), fc.option(fc.webQueryParameters()))
      .map(([name, query]) => `/${name.replace(/^\//, '')}${query === null ? '' : `?${query}`}`);
    const scheme = fc.constantFrom('http', 'https', 'HTTP', 'Https');
    fc.assert(
      fc.property(scheme, authority, path, (name, to, origin) => {
        expect(targetOf({ url: `${name}://${to}${origin}` })).toBe(origin);
        expect(targetOf({ url: origin })).toBe(origin);
        if (/^\/(?:\?|$)/.test(origin))
          expect(targetOf({ url: `${name}://${to}${origin.slice(1)}` })).toBe(origin);
      }),
    );
  });

  it('that is no URL of HTTP is returned unchanged', () => {
    const other = fc.string().filter((text) => !/^https?:\/\//i.test(text));
    fc.assert(
      fc.property(other, (url) => {
        expect(targetOf({ url })).toBe(url);
      }),
    );
  });
});
