import type { Expected, Post } from './caller.ts';
import { ASK, authorization, JSON_TYPE } from './questions.ts';
import type { Kind } from './shots.ts';

type Change = (tag: string, sound: Post) => Partial<Post>;

const REFUSED = { status: 400, code: 'BAD_REQUEST' };

/** Requests that are wrong in themselves, and the documents of which no two are the same. */
export const WRONG_REQUESTS: readonly Kind[] = [
  kind('malformed JSON', REFUSED, (_, { body }) => ({ body: body.slice(0, -1) })),
  kind('wrong content type', { status: 415, code: 'BAD_REQUEST' }, (tag) => ({
    headers: ['content-type', 'text/plain', ...authorization(tag)],
  })),
  kind('unparsable document', { code: 'GRAPHQL_PARSE_FAILED' }, () => document('{ audit {')),
  kind('invalid document', { code: 'GRAPHQL_VALIDATION_FAILED' }, () =>
    document('{ audit(first: "five") { totalCount } }'),
  ),
  kind('unknown field', { code: 'GRAPHQL_VALIDATION_FAILED' }, () =>
    document('{ audit { nodes { colour } } }'),
  ),
  kind('document that is too deep', { code: 'OPERATION_TOO_COMPLEX' }, () =>
    document(`${'{ audit '.repeat(50)}${'}'.repeat(50)}`),
  ),
  kind('wrong variables', { code: 'BAD_USER_INPUT' }, () => ({
    body: JSON.stringify({
      query: 'query ($first: Int) { audit(first: $first) { totalCount } }',
      variables: { first: 'five' },
    }),
  })),
  kind(
    'no token',
    { data: { audit: null }, code: 'UNAUTHENTICATED', reason: 'TOKEN_MISSING' },
    () => ({ headers: JSON_TYPE }),
  ),
  kind('two Authorization headers', { ...REFUSED, isMine: false }, (tag, { headers }) => ({
    headers: [...headers, ...authorization(tag)],
  })),
  kind('document of its own, 3 KB', { data: { audit: { nodes: [] } } }, (tag) =>
    document(`{ audit(filter: {actor: "${tag.padEnd(3000, tag)}"}) { nodes { id } } }`),
  ),
  kind('unparsable document of its own, 30 KB', { code: 'GRAPHQL_PARSE_FAILED' }, (tag) =>
    document(`{ audit(filter: {actor: "${tag.padEnd(30_000, tag)}`),
  ),
];

function document(query: string): Partial<Post> {
  return { body: JSON.stringify({ query }) };
}

function kind(name: string, expected: Expected, change: Change): Kind {
  return {
    name,
    aim: (number) => {
      const tag = `wrong.${number}`;
      const sound = ASK['audit with a window'](tag);
      const post = { ...sound, ...change(tag, sound) };
      return { fire: (caller) => caller.post(post), expected };
    },
  };
}
