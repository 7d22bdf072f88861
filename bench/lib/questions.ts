import { RECORDS } from './behaviours.ts';
import type { Post } from './caller.ts';

/** A request for one operation, and what it must bring when all goes well. */
export type Question = Post & {
  readonly field: 'audit' | 'deleteApiKey' | 'login';
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly data: unknown;
};

/** Makes a request of a name that is its id, its token and its client id at once; the service tells by it how to behave. */
export type Ask = (tag: string) => Question;

/** The operations, as callers use them. */
export const ASK = {
  'audit with a window': (tag) =>
    question(tag, 'audit', {
      query:
        'query ($first: Int) { audit(first: $first) { totalCount nodes { id outcome actor { name } } pageInfo { hasNextPage } } }',
      variables: { first: 5 },
      data: {
        totalCount: RECORDS,
        nodes: [0, 1, 2, 3, 4].map((index) => ({
          id: `${tag}.${index}`,
          outcome: 'SUCCESS',
          actor: { name: index % 2 === 0 ? 'even' : 'odd' },
        })),
        pageInfo: { hasNextPage: true },
      },
    }),
  'audit with a filter': (tag) =>
    question(tag, 'audit', {
      query: 'query ($filter: AuditFilter) { audit(filter: $filter) { nodes { id occurredAt } } }',
      variables: { filter: { actor: 'odd', actions: ['key.delete'] } },
      data: {
        nodes: Array.from({ length: RECORDS / 2 }, (_, index) => ({
          id: `${tag}.${2 * index + 1}`,
          occurredAt: '2026-11-21T06:20:33.156Z',
        })),
      },
    }),
  deleteApiKey: (tag) =>
    question(tag, 'deleteApiKey', {
      query:
        'mutation ($clientId: ID!) { deleteApiKey(clientId: $clientId) { outcome apiKey { clientId } raw } }',
      variables: { clientId: tag },
      data: { outcome: 'DELETED', apiKey: { clientId: tag }, raw: { deleted: tag, by: tag } },
    }),
  login: (tag) =>
    question(tag, 'login', {
      query:
        'mutation ($clientId: ID!, $clientSecret: String!) { login(clientId: $clientId, credential: {clientSecret: $clientSecret}) { accessToken refreshToken tokenType expiresAt } }',
      variables: { clientId: tag, clientSecret: `secret.${tag}` },
      data: {
        accessToken: `access.${tag}`,
        refreshToken: `refresh.secret.${tag}`,
        tokenType: 'Bearer',
        expiresAt: null,
      },
    }),
} as const satisfies Readonly<Record<string, Ask>>;

function question(
  tag: string,
  field: Question['field'],
  { query, variables, data }: Pick<Question, 'query' | 'variables' | 'data'>,
): Question {
  const headers = [...JSON_TYPE, ...(field === 'login' ? [] : authorization(tag))];
  const body = JSON.stringify({ query, variables });
  return { tag, field, query, variables, headers, body, data: { [field]: data } };
}

/** What a JSON body goes with. */
export const JSON_TYPE: readonly string[] = ['content-type', 'application/json'];

/** Two entries of a list of headers. */
export function authorization(tag: string): readonly string[] {
  return ['authorization', `Bearer ${tag}`];
}
