import fc from 'fast-check';
import { getIntrospectionQuery } from 'graphql';
import { describe, expect, it } from 'vitest';
import { ask, codeOf, gatewayOver } from '../../helpers/gateway.ts';
import { startService } from '../../helpers/service.ts';

const LOGIN = 'login(clientId: "c", credential: {clientSecret: "s"}) { accessToken }';
const DELETE = 'deleteApiKey(clientId: "k") { outcome }';
const times = (count: number, text: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => text(index)).join(' ');
/** A chain of fragments, each of which spreads the next one twice. */
const fanOut = (levels: number) =>
  `query { ...f0 } ${times(levels, (i) => `fragment f${i} on Query { ...f${i + 1} ...f${i + 1} }`)}
   fragment f${levels} on Query { __typename }`;

describe('a document that exceeds a limit is rejected, and nothing is sent', () => {
  it.each([
    ['one field in a mutation', `mutation { a: ${LOGIN} b: ${LOGIN} }`],
    ['one field in a mutation', `mutation { ${times(10, () => DELETE)} }`],
    [
      'one field in a mutation',
      `mutation { ...one ... on Mutation { ${DELETE} } } fragment one on Mutation { b: ${DELETE} }`,
    ],
    [
      'one field in a mutation',
      `mutation { ${LOGIN} deleteApiKey(clientId: "k") @skip(if: true) { outcome } }`,
    ],
    ['one field in a mutation', `query A { __typename } mutation B { a: ${DELETE} b: ${DELETE} }`],
    ['10 root fields', `{ ${times(11, () => '__typename')} }`],
    ['10 root fields', `{ ${times(11, (i) => `a${i}: audit { totalCount }`)} }`],
    ['10 root fields', fanOut(20)],
    ['500 fields', `{ audit { edges { node { ${times(499, () => 'id')} } } } }`],
    ['500 fields', `{ audit { nodes { ${times(50, (i) => `r${i}: raw`)} } } }`],
    [
      '500 fields',
      `{ ${times(10, (i) => `a${i}: audit { ...A }`)} } fragment A on AuditEventConnection { ${times(9, (i) => `n${i}: nodes { ...E }`)} }
       fragment E on AuditEvent { id action outcome ipAddress userAgent }`,
    ],
    ['50 aliases', `{ audit { ${times(51, (i) => `a${i}: totalCount`)} } }`],
    ['50 directives', `{ audit { totalCount ${times(51, () => '@include(if: true)')} } }`],
    ['2000 tokens', `{ ${times(10_000, (i) => `a${i}: __typename`)} }`.slice(0, 60_000)],
    ['2000 tokens', `{ audit { ${times(2000, () => 'totalCount')} } }`],
    ['40 nested brackets', `{ a${times(2000, () => '{ a')} }`],
    ['40 nested brackets', `{ audit(first: ${'['.repeat(20_000)}`],
    [
      '20 levels',
      `{ ...f0 } ${times(30, (i) => `fragment f${i} on Query { a { ...f${i + 1} } }`)}`,
    ],
  ])('more than %s', async (limit, query) => {
    await using service = await startService({ body: { access_token: 'a' } });
    await using gateway = gatewayOver(service.url);
    for (let round = 0; round < 2; round += 1) {
      const result = await ask(gateway, query, {}, { token: 't' });
      expect(codeOf(result)).toBe('OPERATION_TOO_COMPLEX');
      expect(result.errors?.[0]?.message).toContain(`more than ${limit}.`);
      expect(result.errors?.[0]?.extensions.retryable).toBe(false);
    }
    expect(service.seen).toHaveLength(0);
    expect(gateway.logged.join()).not.toContain('bug');
  });
});

describe('a document at a limit', () => {
  it.each([
    ['one login under an alias', `mutation { __typename a: ${LOGIN} }`, 1],
    ['500 fields', `{ audit { edges { node { ${times(497, () => 'id')} } } } }`, 1],
    ['ten fields', `{ ${times(10, (i) => `a${i}: audit { totalCount }`)} }`, 1],
    ['many operations', `mutation A { ${DELETE} } query B { __typename }`, 1],
    ['the longest introspection query', getIntrospectionQuery({ oneOf: true }), 0],
  ])('is executed: %s', async (_, query, sent) => {
    await using service = await startService(({ method }) =>
      method === 'GET' ? { body: [] } : { body: { access_token: 'a', deleted: 1 } },
    );
    await using gateway = gatewayOver(service.url);
    const operationName = query.includes('query B') ? 'A' : undefined;
    const response = await gateway.fetch('http://k/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer t' },
      body: JSON.stringify({ query, operationName }),
    });
    const { errors } = await response.json();
    expect(errors).toBeUndefined();
    expect(service.seen).toHaveLength(sent);
  });
});

describe('any document', () => {
  it('never gets a code other than those for wrong requests', async () => {
    await using gateway = gatewayOver('http://127.0.0.1:9');
    const word = fc.constantFrom(
      ...['{', '}', '(', ')', '[', ']', ':', '@', '$', '...', '"', '#', '!', '='],
      ...['query', 'fragment', 'on', 'Query', 'a', 'audit', 'first', '1', 'null', '\n', '\u{d800}'],
    );
    const document = fc.oneof(
      fc.array(word, { maxLength: 200 }).map((words) => words.join(' ')),
      fc.string(),
      fc.tuple(word, fc.nat(3000)).map(([text, count]) => text.repeat(count)),
    );
    await fc.assert(
      fc.asyncProperty(document, async (query) => {
        const code = codeOf(await ask(gateway, query, {}));
        expect(code).toMatch(
          /^(?:BAD_REQUEST|GRAPHQL_\w+_FAILED|OPERATION_TOO_COMPLEX|BAD_USER_INPUT|UNAUTHENTICATED|)$/,
        );
      }),
    );
  });
});
