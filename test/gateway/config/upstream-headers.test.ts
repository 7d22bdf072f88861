import { validateHeaderName, validateHeaderValue } from 'node:http';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseUpstreamHeaders } from '../../../src/gateway/config/upstream-headers.ts';

const TOKEN_CHARACTERS = [..."abcxyzABC019!#$%&'*+-.^_`|~"];
const name = fc
  .string({ unit: fc.constantFrom(...TOKEN_CHARACTERS), minLength: 1 })
  .map((text) => `x-${text}`)
  .filter((text) => !/^x-(?:forwarded-for|request-id)$/i.test(text));
const value = fc
  .string({ unit: fc.constantFrom(...'aZ09 \t:;,="/\\~!') })
  .map((text) => `v${text}`.trim());

describe('the headers of a file', () => {
  it('are those that were written, one per line, whatever their values', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.tuple(name, value), { selector: ([key]) => key.toLowerCase() }),
        fc.constantFrom('\n', '\r\n', '\n\n'),
        fc.constantFrom(':', ': ', ':\t '),
        (pairs, lineBreak, colon) => {
          const text = pairs.map(([key, of]) => `${key}${colon}${of} `).join(lineBreak);
          const lower = pairs.map(([key, of]) => [key.toLowerCase(), of] as const);
          expect(parseUpstreamHeaders(text)).toEqual({
            headers: Object.fromEntries(lower),
            problems: [],
          });
        },
      ),
    );
  });

  it('of any text are headers that HTTP allows, or problems without a value', () => {
    const line = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.tuple(fc.oneof(name, fc.string()), fc.string()).map(([key, of]) => `${key}:${of}`),
    );
    fc.assert(
      fc.property(fc.array(line), (lines) => {
        const { headers, problems } = parseUpstreamHeaders(lines.join('\n'));
        for (const problem of problems) expect(problem).toMatch(/^must /);
        if (problems.length > 0) return;
        for (const [key, of] of Object.entries(headers)) {
          validateHeaderName(key);
          validateHeaderValue(key, of);
          expect(of).not.toBe('');
        }
      }),
    );
  });

  const OWN = 'must not have the header NAME: Keytrail sets it, or it belongs to the connection';
  it.each([
    ...['Authorization', 'host', 'Cookie', 'content-type', 'Content-Length', 'content-encoding'],
    ...['transfer-encoding', 'Connection', 'via', 'X-Forwarded-For', 'traceparent', 'tracestate'],
    ...['accept', 'accept-encoding', 'user-agent', 'x-request-id', 'expect', 'upgrade', 'te'],
    ...['keep-alive', 'proxy-authorization', 'Proxy-Connection', 'trailer'],
  ])('are not Keytrail’s own, nor those of the connection: %s', (own) => {
    expect(parseUpstreamHeaders(`${own}: canary`).problems).toEqual([
      OWN.replace('NAME', own.toLowerCase()),
    ]);
  });

  it.each([
    ['canary', 'must have `name: value` in line 1, with a name that HTTP allows'],
    [
      'x-a: b\n\ncanary: it: is\n: canary',
      'must have `name: value` in line 4, with a name that HTTP allows',
    ],
    ['x canary: v', 'must have `name: value` in line 1, with a name that HTTP allows'],
    ['x-ä: canary', 'must have `name: value` in line 1, with a name that HTTP allows'],
    ['x-key:', 'must have visible ASCII characters as the value of the header x-key'],
    ['x-key: canary\u0007', 'must have visible ASCII characters as the value of the header x-key'],
    ['x-key: canarÿ', 'must have visible ASCII characters as the value of the header x-key'],
    [
      'x-key: canary\rx-more: canary',
      'must have visible ASCII characters as the value of the header x-key',
    ],
    ['x-key: canary\nX-Key: canary', 'must have the header x-key only once'],
  ])('are named in problems by their lines or names, and no value is: %j', (text, problem) => {
    expect(parseUpstreamHeaders(text).problems).toEqual([problem]);
  });
});
