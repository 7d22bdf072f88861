import { describe, expect, it } from 'vitest';
import { codeOf, gatewayOver, post } from '../../helpers/gateway.ts';

const QUERY = 'query ($first: Int!) { audit(first: $first) { raw(pointer: "x")';
const UNENDING = `${QUERY} nothing ${'id '.repeat(2000)}`;
const TEXT = { 'content-type': 'text/plain' };
const NOT_ACCEPTED = { accept: 'text/html', ...TEXT };

/** From the last step to the first. Each request is also wrong for all steps before it in this list. */
const STEPS: readonly (readonly [
  step: string,
  body: object | string,
  headers: Readonly<Record<string, string>>,
  expected: readonly [status: number, code: string, message: RegExp],
])[] = [
  ['resolver', { query: '{ audit { totalCount } }' }, {}, [200, 'UNAUTHENTICATED', /token/i]],
  [
    'useVariableCheck: pointers',
    { query: '{ audit { raw(pointer: "x") } }' },
    {},
    [200, 'BAD_USER_INPUT', /JSON pointer/],
  ],
  [
    'useVariableCheck: variables',
    { query: `${QUERY} } }`, variables: { first: 'x' } },
    {},
    [200, 'BAD_USER_INPUT', /Variable "\$first"/],
  ],
  [
    'useValidationRules: validation',
    { query: `${QUERY} nothing } }`, variables: { first: 'x' } },
    {},
    [200, 'GRAPHQL_VALIDATION_FAILED', /"nothing"/],
  ],
  [
    'useValidationRules: syntax',
    { query: `${QUERY} nothing`, variables: { first: 'x' } },
    {},
    [200, 'GRAPHQL_PARSE_FAILED', /^Syntax error/],
  ],
  ['useLimits', { query: UNENDING }, {}, [200, 'OPERATION_TOO_COMPLEX', /2000 tokens/]],
  [
    'Yoga: types of members',
    { query: UNENDING, variables: [] },
    {},
    [400, 'BAD_REQUEST', /"variables"/],
  ],
  ['useJsonRequests: JSON', `{"query": "${UNENDING}"`, {}, [400, 'BAD_REQUEST', /invalid JSON/]],
  ['useJsonRequests: content type', UNENDING, TEXT, [415, 'BAD_REQUEST', /content-type/]],
  ['useJsonRequests: Accept', UNENDING, NOT_ACCEPTED, [406, 'BAD_REQUEST', /accept/]],
];

const toBody = (body: object | string) => (typeof body === 'string' ? body : JSON.stringify(body));

describe('a request that several steps would reject', () => {
  it.each(STEPS)('gets the error of the first: %s', async (_, body, headers, expected) => {
    await using gateway = gatewayOver('http://127.0.0.1:9');
    const result = await post(gateway, toBody(body), headers);
    const message = result.errors?.[0]?.message;
    const [status, code, pattern] = expected;
    expect([result.status, codeOf(result), message]).toEqual([
      status,
      code,
      expect.stringMatching(pattern),
    ]);
    expect(gateway.logged.at(-1)).toContain(code);
  });

  it('gets the error of the steps before Yoga first: closed, body, load shedding', async () => {
    const gateway = gatewayOver('http://127.0.0.1:9', { maxInFlight: 0 });
    const large = ' '.repeat(65_537);
    const statusOf = async (body: string) => (await post(gateway, body, NOT_ACCEPTED)).status;
    expect([await statusOf(UNENDING), await statusOf(large)]).toEqual([503, 413]);
    await gateway[Symbol.asyncDispose]();
    expect(await statusOf(large)).toBe(503);
  });
});
