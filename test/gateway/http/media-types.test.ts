import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isUtf8,
  preferMediaType,
  prefersPage,
  RESPONSE_TYPES,
} from '../../../src/gateway/http/request-head.ts';
import { gatewayOver, onPort } from '../../helpers/gateway.ts';
import { startService } from '../../helpers/service.ts';

const JSON_TYPE = 'application/json';
const GRAPHQL = 'application/graphql-response+json';

const CASES: readonly (readonly [accept: string, type: string | undefined])[] = [
  ['*/*', JSON_TYPE],
  ['', JSON_TYPE],
  ['application/*', JSON_TYPE],
  [GRAPHQL, GRAPHQL],
  [`${GRAPHQL}, ${JSON_TYPE}`, GRAPHQL],
  [`${JSON_TYPE}, ${GRAPHQL}`, JSON_TYPE],
  [`${JSON_TYPE};q=0.5, ${GRAPHQL}`, GRAPHQL],
  [`${GRAPHQL}; q=0.5 , Application/JSON`, JSON_TYPE],
  [`${GRAPHQL};q=0.9, */*`, JSON_TYPE],
  [`${JSON_TYPE};q=0, */*`, GRAPHQL],
  [`*/*, ${JSON_TYPE};q=0`, GRAPHQL],
  [`application/*;q=0, ${JSON_TYPE};q=0.1`, JSON_TYPE],
  [`${JSON_TYPE};q=0.1, application/*;q=0.2`, GRAPHQL],
  [`${JSON_TYPE}; charset=utf-8; q=0.1, ${GRAPHQL}; q=0.5`, GRAPHQL],
  [`${JSON_TYPE}; charset="UTF-8"`, JSON_TYPE],
  [`${JSON_TYPE}; charset=utf8`, JSON_TYPE],
  [`${JSON_TYPE}; charset=utf-16`, JSON_TYPE],
  [`${JSON_TYPE}; version=1`, JSON_TYPE],
  [`${JSON_TYPE};version="1, 2;q=0";q=0.5, text/html`, JSON_TYPE],
  [`${JSON_TYPE};v="\\";q=0", ${GRAPHQL};q=0.9`, JSON_TYPE],
  [`${JSON_TYPE};indent;q=0.5;ext=1, ${GRAPHQL}; version = 2`, GRAPHQL],
  [`${GRAPHQL};version=1;q=0, ${JSON_TYPE};version=1`, JSON_TYPE],
  ['*/*; version=1', JSON_TYPE],
  ['application/*; charset=latin1', JSON_TYPE],
  ['text/html, */*;q=0.1', JSON_TYPE],
  [`multipart/mixed;deferSpec=20220824,${JSON_TYPE}`, JSON_TYPE],
  [`text/event-stream, ${JSON_TYPE};q=0.1`, JSON_TYPE],
  ['*/*;q=0', undefined],
  [`${JSON_TYPE};q=0`, undefined],
  [`${JSON_TYPE};Q=0.000, text/html`, undefined],
  [`application/*;q=0, text/html`, undefined],
  [`${JSON_TYPE}; version=1; q=0`, undefined],
  [`${JSON_TYPE};q=high`, undefined],
  ['text/html; type="application/json"', undefined],
];

describe('the Accept header', () => {
  it.each(CASES)('%j gets %s, prepared or not', async (accept, type) => {
    await using service = await startService({ status: 204 });
    await using gateway = gatewayOver(service.url);
    await using server = await onPort(gateway);
    const init = {
      method: 'POST',
      headers: { 'content-type': JSON_TYPE, authorization: 'Bearer t', accept },
      body: JSON.stringify({
        query: 'mutation ($id: ID!) { deleteApiKey(clientId: $id) { outcome } }',
        variables: { id: 'k' },
      }),
    };
    for (const send of [gateway.fetch, fetch, fetch]) {
      const response = await send(`${server.url}/graphql`, init);
      expect(response.status).toBe(type === undefined ? 406 : 200);
      if (type !== undefined)
        expect(response.headers.get('content-type')).toBe(`${type}; charset=utf-8`);
    }
    expect(service.seen).toHaveLength(type === undefined ? 0 : 3);
    expect(gateway.logged.join().includes('"prepared":true')).toBe(type !== undefined);
  });

  it.each([
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', true],
    ['text/html', true],
    ['text/*;q=0.2, */*;q=0.1', true],
    ['text/html, application/json', true],
    ['application/json, text/html', false],
    ['application/json, text/html;q=0.9', false],
    ['text/html;q=0, */*', false],
    ['text/html;q=0', false],
    ['application/json;x="text/html"', false],
    ['*/*', false],
    [undefined, false],
  ])('%j gets the playground: %s', async (accept, isPage) => {
    await using gateway = gatewayOver('http://127.0.0.1:9', { playground: {} });
    const url = 'http://k/graphql?query={__typename}';
    const response = await gateway.fetch(url, { headers: { ...(accept && { accept }) } });
    expect(response.headers.get('content-type')?.startsWith('text/html')).toBe(isPage);
    expect(prefersPage(accept)).toBe(isPage);
  });
});

const PARTS = ['application/json', GRAPHQL, 'text/html', 'application/*', 'text/*', '*/*'] as const;

const TOKEN = fc.stringMatching(/^[a-z][\w.+-]{0,5}$/);
const VALUE = fc.oneof(
  TOKEN,
  fc.string({ maxLength: 8 }).map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`),
);

/** A parameter that is no quality. */
const PARAMETER = fc
  .tuple(
    fc.constantFrom(';', '; ', ' ;\t'),
    fc.oneof(fc.constantFrom('charset', 'Charset', 'version'), TOKEN),
    fc.option(VALUE),
  )
  .filter(([, name]) => name !== 'q')
  .map(([before, name, value]) => `${before}${name}${value === null ? '' : `=${value}`}`);

describe('preferMediaType', () => {
  it('takes the same type whatever the parameters of a range are', () => {
    const range = fc.record({
      name: fc.constantFrom(...PARTS),
      parameters: fc.array(PARAMETER, { maxLength: 3 }),
      quality: fc.constantFrom('', ';q=1', '; Q=0.5', ';q=0'),
    });
    fc.assert(
      fc.property(fc.array(range, { minLength: 1, maxLength: 4 }), (ranges) => {
        const accept = ranges.map((each) => [each.name, ...each.parameters, each.quality].join(''));
        const plain = ranges.map(({ name, quality }) => name + quality);
        const types = [...RESPONSE_TYPES, 'text/html'];
        expect(preferMediaType(accept.join(), types)).toBe(preferMediaType(plain.join(), types));
      }),
    );
  });

  it('takes a type of the highest quality, by the most specific range for each', () => {
    const range = fc.record({
      name: fc.constantFrom(...PARTS),
      thousandths: fc.integer({ min: 0, max: 1000 }),
    });
    // One range of each name: of two equal ranges, RFC 9110 does not say which counts.
    const ranges = fc.uniqueArray(range, { minLength: 1, selector: ({ name }) => name });
    fc.assert(
      fc.property(ranges, fc.constantFrom(',', ', ', ' ,\t'), (given, comma) => {
        const accept = given.map(({ name, thousandths }) => `${name};q=${thousandths / 1000}`);
        const qualityOf = (type: string) => {
          const names = [type, type.replace(/\/.*/, '/*'), '*/*'];
          const found = names.map((name) => given.find((each) => each.name === name));
          return found.find((each) => each !== undefined)?.thousandths ?? 0;
        };
        const types = [...RESPONSE_TYPES, 'text/html'];
        const preferred = preferMediaType(accept.join(comma), types);
        const best = Math.max(...types.map(qualityOf));
        expect(preferred === undefined).toBe(best === 0);
        if (preferred !== undefined) expect(qualityOf(preferred)).toBe(best);
      }),
    );
  });

  it('takes any header', () => {
    fc.assert(
      fc.property(fc.string(), (accept) => {
        expect([...RESPONSE_TYPES, undefined]).toContain(preferMediaType(accept, RESPONSE_TYPES));
      }),
    );
  });
});

describe('the charset of a body', () => {
  it.each([
    ['', 200],
    [';', 200],
    ['; charset=utf-8', 200],
    [';charset=UTF8', 200],
    [' ; Charset = "UTF-8"', 200],
    ['; charset="utf\\-8"', 200],
    ['; version=1; charset=utf-8', 200],
    ['; charset=utf-8; charset=utf-8', 200],
    ['; x="; charset=utf-16"', 200],
    ['; x="\\"; charset=utf-16"', 200],
    ['; xcharset=utf-16', 200],
    ['; charset=utf-16', 415],
    ['; charset="utf-16le"', 415],
    ['; CHARSET=ISO-8859-1', 415],
    ['; version=1;charset=windows-1252', 415],
    ['; x="1"; charset=utf-32', 415],
    ['; charset=utf-8; charset=utf-16', 415],
    ['; charset=utf-80', 415],
    ['; charset=xutf-8', 415],
    ['; charset=""', 415],
    ['; charset=', 415],
    ['; charset', 415],
    ['; charset="utf-16', 415],
  ])('%j gets %i, prepared or not', async (parameters, status) => {
    await using service = await startService({ status: 204 });
    await using gateway = gatewayOver(service.url);
    await using server = await onPort(gateway);
    const send = async (sender: typeof fetch, type: string) => {
      const response = await sender(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': type, authorization: 'Bearer t' },
        body: JSON.stringify({
          query: 'mutation ($id: ID!) { deleteApiKey(clientId: $id) { outcome } }',
          variables: { id: 'k' },
        }),
      });
      return [response.status, (await response.json()).errors?.[0]?.message];
    };
    for (const _ of [1, 2]) expect(await send(fetch, JSON_TYPE)).toEqual([200, undefined]);
    const expected = [status, status === 200 ? undefined : expect.stringContaining('UTF-8')];
    for (const sender of [gateway.fetch, fetch, fetch])
      expect(await send(sender, JSON_TYPE + parameters)).toEqual(expected);
    expect(service.seen).toHaveLength(status === 200 ? 5 : 2);
  });

  it('is UTF-8 unless a parameter names another', () => {
    const named = fc.constantFrom(
      ...(['utf-8', 'UTF8', '"utf-8"', 'utf-16', '"UTF-16"', 'latin1', '""'] as const),
    );
    const others = fc.array(
      PARAMETER.filter((text) => !/charset/i.test(text)),
      { maxLength: 3 },
    );
    fc.assert(
      fc.property(others, fc.option(named), others, (before, charset, after) => {
        const own = charset === null ? [] : [`;charset=${charset}`];
        const type = [JSON_TYPE, ...before, ...own, ...after].join('');
        expect(isUtf8(type)).toBe(charset === null || /^"?utf-?8"?$/i.test(charset));
      }),
    );
  });

  it('is read from any text', () => {
    fc.assert(fc.property(fc.string(), (type) => void isUtf8(type)));
  });
});
