import { expect } from 'vitest';
import type { Testbed } from '../../src/testing/testbed.ts';

/** The responses of one run: login, first page, next page, failures, deletion, and one with a wrong token. */
export type Responses = readonly unknown[];

type Page = { readonly audit: { readonly nodes: readonly { readonly occurredAt: string }[] } };

const NODE = {
  occurredAt: expect.any(String),
  action: expect.any(String),
  outcome: expect.stringMatching(/^(?:SUCCESS|FAILURE)$/),
  actor: expect.anything(),
};
const FIVE_EVENTS = (node: object) => ({
  data: {
    audit: {
      nodes: Array.from({ length: 5 }, () => node),
      pageInfo: { hasNextPage: true, endCursor: expect.any(String) },
    },
  },
});

/** Expects what the six requests respond, and what the service received for them. */
export function expectSixResponses(
  responses: Responses,
  { requests }: Pick<Testbed, 'requests'>,
  deletion: 'DELETED' | 'NOT_FOUND',
): void {
  expect(responses).toEqual([
    { data: { login: { accessToken: expect.any(String), expiresAt: expect.any(String) } } },
    FIVE_EVENTS(NODE),
    FIVE_EVENTS(NODE),
    FIVE_EVENTS({ ...NODE, outcome: 'FAILURE' }),
    deletion === 'DELETED'
      ? { data: { deleteApiKey: { outcome: 'DELETED', apiKey: { clientId: 'demo-old-ci' } } } }
      : { data: { deleteApiKey: null }, errors: [withCode('NOT_FOUND')] },
    { data: { audit: null }, errors: [withCode('UNAUTHENTICATED')] },
  ]);

  // The next page continues the first: no event is missing or on both.
  const [login, first, next] = responses as readonly [
    { readonly data: { readonly login: { readonly accessToken: string } } },
    { readonly data: Page },
    { readonly data: Page },
  ]; // as expected above
  const times = [...first.data.audit.nodes, ...next.data.audit.nodes].map(
    (node) => node.occurredAt,
  );
  expect(new Set(times).size).toBe(10);
  expect(times).toEqual(times.toSorted().reverse());

  const bearer = `Bearer ${login.data.login.accessToken}`;
  const sent = requests.map(({ method, path, headers: { authorization } }) =>
    [method, path.replace(/\?.*/, ''), authorization].join(' '),
  );
  expect(sent[0]).toBe('POST /api/v1/auth/login '); // without a token
  expect(sent.filter((line) => line.startsWith('POST'))).toHaveLength(1);
  expect(sent.filter((line) => line.startsWith('DELETE'))).toEqual([
    `DELETE /api/v1/secrets/demo-old-ci ${bearer}`,
  ]);
  expect(sent.at(-1)).toBe('GET /api/v1/audit Bearer expired');
  for (const line of sent.slice(1, -1)) expect(line).toContain(bearer);
}

function withCode(code: string): unknown {
  return expect.objectContaining({ extensions: expect.objectContaining({ code }) });
}
