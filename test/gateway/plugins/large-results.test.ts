import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isLarge, serializeInPieces } from '../../../src/gateway/plugins/serialize-result.ts';
import { gatewayOver, onPort } from '../../helpers/gateway.ts';
import { startService } from '../../helpers/service.ts';

it('a value in pieces is the same JSON as in one', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' }),
      fc.integer({ min: 1, max: 50 }),
      async (value, pieceLength) => {
        const given = { data: value, errors: undefined, extensions: [value, undefined] };
        const pieces = await serializeInPieces(given, pieceLength);
        expect(Buffer.concat(pieces).equals(Buffer.from(JSON.stringify(given)))).toBe(true);
      },
    ),
    { numRuns: 1000 },
  );
});

it('a value in pieces is cut, and what has its own JSON is not', async () => {
  const value = {
    list: Array(1000).fill('four'),
    error: { toJSON: () => 'own', more: 'x'.repeat(99) },
  };
  expect(isLarge(value)).toBe(false);
  const pieces = await serializeInPieces(value, 70);
  expect(pieces.length).toBeGreaterThan(70);
  expect(Buffer.concat(pieces).toString()).toBe(JSON.stringify(value));
});

const records = Array.from({ length: 12_000 }, (_, index) => ({
  id: `r${index}`,
  time: new Date(1.7e12 - index * 1000).toISOString(),
  action: 'key.delete',
  note: `${'ä€😀 '.repeat(40)}`,
}));

describe('a result of 6 MB', () => {
  const query = '{ audit(first: 1) { raw } wrong: audit(first: 0) { totalCount } }';

  it.each([
    ['by the fast path', {}],
    ['by Yoga, as for browsers', { origin: 'https://app.example' }],
  ])('is the same as its parts, with the error of another field, %s', async (_, headers) => {
    await using service = await startService({ body: records });
    await using gateway = gatewayOver(service.url, {
      corsOrigins: ['https://app.example'],
      upstream: { maxBytes: 2 ** 25 },
    });
    await using server = await onPort(gateway);
    for (let time = 0; time < 3; time += 1) {
      const response = await fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer t', ...headers },
        body: JSON.stringify({ query }),
      });
      const bytes = Buffer.from(await response.arrayBuffer());
      expect(response.status).toBe(200);
      expect(response.headers.get('content-length')).toBe(String(bytes.length));
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
      const { data, errors } = JSON.parse(bytes.toString());
      expect(data).toEqual({ audit: { raw: records }, wrong: null });
      expect(errors).toMatchObject([{ path: ['wrong'], extensions: { code: 'BAD_USER_INPUT' } }]);
    }
    const isPrepared = gateway.logged.some((line) => line.includes('"prepared":true'));
    expect(isPrepared).toBe(!('origin' in headers));
  });

  it('is given by `fetch`', async () => {
    await using service = await startService({ body: records });
    await using gateway = gatewayOver(service.url, { upstream: { maxBytes: 2 ** 25 } });
    const response = await gateway.fetch('http://localhost/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer t' },
      body: JSON.stringify({ query }),
    });
    expect((await response.json()).data).toEqual({ audit: { raw: records }, wrong: null });
  });
});
