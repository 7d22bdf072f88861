import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  AuditDocument,
  type AuditQuery,
  DeleteApiKeyDocument,
  type Fetch,
  type LoginCredential,
  LoginDocument,
  type Result,
  request,
  wasRefused,
} from '../../src/client/index.ts';
import { CANARY } from '../helpers/canary.ts';
import { startService } from '../helpers/service.ts';

describe('request', () => {
  it('sends the document, the variables and the token, and nothing else', async () => {
    await using service = await startService({ body: { data: { audit: null } } });
    const url = `${service.url}/some/graphql`;
    await request(AuditDocument, { first: 3 }, { url, token: 'a.b-c' });
    const [seen] = service.seen;
    expect(seen).toMatchObject({
      method: 'POST',
      url: '/some/graphql',
      headers: {
        authorization: 'Bearer a.b-c',
        'content-type': 'application/json',
        accept: 'application/json',
      },
    });
    expect(JSON.parse(seen?.body ?? '')).toEqual({
      query: AuditDocument.toString(),
      variables: { first: 3 },
    });
  });

  it('sends no Authorization without a token', async () => {
    await using service = await startService({ body: { data: {} } });
    const credential = { clientSecret: 's' };
    await request(LoginDocument, { clientId: 'c', credential }, { url: service.url });
    expect(service.seen[0]?.headers.authorization).toBeUndefined();
  });

  it('returns data and errors together, whatever the HTTP status', async () => {
    const body = {
      data: { audit: null },
      errors: [{ message: 'm', extensions: { code: 'RATE_LIMITED', retryAfterSeconds: 7 } }],
    };
    await using service = await startService({ status: 503, body });
    const result = await request(AuditDocument, {}, { url: service.url });
    expect(result).toEqual(body);
    expect(result.errors?.[0]?.extensions?.retryAfterSeconds).toBe(7);
  });

  it('uses the default URL of Keytrail, and the given fetch', async () => {
    const urls: string[] = [];
    const fetch: Fetch = async (url) => {
      urls.push(url);
      return { status: 200, text: async () => '{"data": {}}' };
    };
    await request('{ __typename }', {}, { fetch });
    expect(urls).toEqual(['http://127.0.0.1:4000/graphql']);
  });

  it.each(['<html>', '', '[]', '"text"', '{}', 'null', '{"message": "no"}', '{"errors": "no"}'])(
    'throws on %j, which is not a result, and does not repeat it',
    async (body) => {
      await using service = await startService({ status: 502, body });
      const { url } = service;
      await expect(request(AuditDocument, {}, { url, token: 'c4n4ry' })).rejects.toThrow(
        expect.objectContaining({
          message: 'The response is not GraphQL (HTTP 502). Check the URL.',
          cause: { status: 502 },
        }),
      );
    },
  );

  it('throws what fetch throws', async () => {
    await expect(request(AuditDocument, {}, { url: 'http://127.0.0.1:9' })).rejects.toThrow(
      'fetch failed',
    );
  });

  it('throws a mutation whose response was lost as OUTCOME_UNKNOWN, wherever its keyword is', async () => {
    await using gateway = await startService((_, response) => void response.destroy());
    const { url } = gateway;
    for (const document of [
      'mutation{deleteApiKey(clientId:"a"){outcome}}',
      '# a comment\nfragment F on Query{__typename}mutation M($c:ID!){deleteApiKey(clientId:$c){outcome}}',
      '\uFEFF,mutation@skip(if:false){__typename}',
    ])
      await expect(request(document, {}, { url, token: CANARY.accessToken })).rejects.toMatchObject(
        {
          name: 'OperationError',
          message:
            'The mutation may have been carried out: check the audit trail before you repeat it. Its response was lost.',
          extensions: { code: 'OUTCOME_UNKNOWN', retryable: false },
          cause: { message: 'fetch failed' },
        },
      );
    await expect(request('{ __typename }', {}, { url })).rejects.toThrow('fetch failed');
  });

  it('either returns the result or throws this error, for any response text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.json(), fc.string()), async (text) => {
        const fetch: Fetch = async () => ({ status: 200, text: async () => text });
        const outcome = await request(AuditDocument, {}, { fetch }).catch(({ message }) => message);
        if (typeof outcome === 'string') expect(outcome).toMatch(/^The response is not GraphQL /);
        else expect(outcome).toEqual(JSON.parse(text));
      }),
    );
  });
});

describe('the types', () => {
  it('include a document’s data and variables, and a credential with exactly one member', () => {
    const one: LoginCredential = { refreshToken: 'r' };
    // @ts-expect-error: not both
    const both: LoginCredential = { refreshToken: 'r', clientSecret: 's' };
    // @ts-expect-error: not neither
    const neither: LoginCredential = {};
    const typed = (): Promise<Result<AuditQuery>> => request(AuditDocument, { first: 1 });
    // @ts-expect-error: the operation has no such variable
    const wrongName = () => request(AuditDocument, { frist: 1 });
    // @ts-expect-error: a required variable is missing
    const missing = () => request(DeleteApiKeyDocument, {});
    // @ts-expect-error: a parsed document is not a string
    const parsed = () => request({ kind: 'Document', definitions: [] }, {});
    expect([one, both, neither, typed, wrongName, missing, parsed]).toHaveLength(7);
  });
});

describe('wasRefused', () => {
  const root = fc.constantFrom('__typename', 'deleteApiKey', 'other');
  const path = fc.option(fc.array(fc.oneof(root, fc.nat(2)), { maxLength: 3 }), { nil: undefined });
  const code = fc.constantFrom('UNAUTHENTICATED', 'FORBIDDEN', undefined);
  const errors = fc.array(fc.record({ path, extensions: fc.option(fc.record({ code })) }), {
    maxLength: 3,
  });
  const value = fc.constantFrom(null, true, 'Mutation', {});
  const data = fc.option(fc.dictionary(root, value), { nil: undefined });

  it('is true only if every mutation field has its own UNAUTHENTICATED, and nothing else happened', () => {
    fc.assert(
      fc.property(data, errors, (data, errors) => {
        if (!wasRefused({ data, errors })) return;
        for (const { path, extensions } of errors)
          expect([path?.length, extensions?.code]).toEqual([1, 'UNAUTHENTICATED']);
        for (const [field, of] of Object.entries(data ?? {})) {
          if (field === '__typename') continue;
          expect(of).toBeNull();
          expect(errors.map(({ path }) => path?.[0])).toContain(field);
        }
      }),
    );
  });
});
