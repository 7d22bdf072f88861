import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parse } from 'graphql';
import { describe, expect, it } from 'vitest';
import * as apollo from '../../examples/graphql-clients/apollo.ts';
import { createClient, deleteApiKey } from '../../examples/graphql-clients/graphql-request.ts';
import { KeytrailError } from '../../examples/graphql-clients/keytrail-error.ts';
import { createQueryClient } from '../../examples/graphql-clients/query-client.ts';
import { auditPages, keyDeletion } from '../../examples/graphql-clients/tanstack-query.ts';
import { AuditDocument, LoginDocument, request } from '../../src/client/index.ts';
import { startService } from '../helpers/service.ts';
import { EVENTS, line, lose, startTrail } from './trail.ts';

const credential = { clientSecret: 's3cret' };

describe('graphql-request', () => {
  it('takes the documents, and gives their types to variables and data', async () => {
    await using trail = await startTrail();
    const { audit } = await createClient(trail.url, 't').request(AuditDocument, { first: 1 });
    expect(audit?.nodes.map(line)).toEqual(EVENTS.slice(0, 1));
    // @ts-expect-error: the document has no such variable
    const wrong = () => createClient(trail.url, 't').request(AuditDocument, { frist: 1 });
    expect(wrong).toBeTypeOf('function');
  });

  it.each([
    [{ status: 204 }, 'is deleted'],
    [{ status: 202 }, 'will be deleted'],
    [{ status: 404 }, 'does not exist'],
  ])('decides by the code after %j', async (response, expected) => {
    await using trail = await startTrail({ remove: () => response });
    expect(await deleteApiKey(createClient(trail.url, 't'), 'ci-key')).toBe(expected);
    expect(trail.sent()).toEqual(['DELETE']);
  });

  it('decides by the code after a lost response', async () => {
    await using trail = await startTrail({ remove: lose });
    const sentence = await deleteApiKey(createClient(trail.url, 't'), 'ci-key');
    expect(sentence).toBe('may be deleted: check the audit trail');
    expect(trail.sent()).toEqual(['DELETE']);
  });

  it('throws other errors without the variables, which its own error contains', async () => {
    const forbid = () => ({ status: 403 });
    await using trail = await startTrail({ remove: forbid, login: forbid });
    const client = createClient(trail.url, 't');
    await expect(deleteApiKey(client, 'ci-key')).rejects.toMatchObject({
      message:
        'The service does not permit this operation: ask for the permission, or use another client.',
    });
    const login = client.request(LoginDocument, { clientId: 'c', credential });
    await expect(login).rejects.toThrow('s3cret');
    expect(trail.sent()).toEqual(['DELETE', 'POST']);
  });

  it('has the data beside the errors in `error.response`, or with `rawRequest` and `errorPolicy`', async () => {
    await using trail = await startTrail({
      read: ({ url }) => ({ status: url.includes('fail') ? 403 : 200, body: [] }),
    });
    const TWO = `{
      one: audit { totalCount }
      two: audit(parameters: [{ name: "fail", value: "1" }]) { totalCount }
    }`;
    const data = { one: { totalCount: 0 }, two: null };
    const errors = [{ path: ['two'], extensions: { code: 'FORBIDDEN' } }];
    const client = createClient(trail.url, 't');
    const rejection = { response: { data, errors } };
    await expect(client.request(TWO)).rejects.toMatchObject(rejection);
    client.requestConfig.errorPolicy = 'all';
    expect(await client.rawRequest(TWO)).toMatchObject({ data, errors });
  });
});

describe('TanStack Query', () => {
  it('reads page after page until the last', async () => {
    await using trail = await startTrail();
    const options = { ...auditPages({ url: trail.url, token: 't' }, { first: 2 }), pages: 9 };
    const { pages } = await createQueryClient().infiniteQuery(options);
    expect(pages.flatMap(({ audit }) => audit?.nodes.map(line) ?? [])).toEqual(EVENTS);
    expect(trail.sent()).toEqual(['GET', 'GET', 'GET']);
  });

  it('repeats a query whose error is retryable, after the time that it names', async () => {
    let reads = 0;
    await using trail = await startTrail({
      read: () => {
        reads += 1;
        return reads === 1 ? { status: 429, headers: { 'retry-after': '1' } } : { body: [] };
      },
    });
    const options = auditPages({ url: trail.url, token: 't' });
    const { pages } = await createQueryClient().infiniteQuery(options);
    expect(pages).toHaveLength(1);
    expect(trail.sent()).toEqual(['GET', 'GET']);
  });

  it('does not repeat a query whose error is not retryable', async () => {
    await using trail = await startTrail({ read: () => ({ status: 401 }) });
    const query = createQueryClient().infiniteQuery(auditPages({ url: trail.url, token: 't' }));
    await expect(query).rejects.toBeInstanceOf(KeytrailError);
    await expect(query).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    expect(trail.sent()).toEqual(['GET']);
  });

  it.each([
    ['that succeeded', () => ({ status: 204 }), undefined],
    ['whose response was lost', lose, 'OUTCOME_UNKNOWN'],
  ])('does not repeat a deletion %s, and reads the trail again', async (_, remove, code) => {
    await using trail = await startTrail({ remove });
    const options = { url: trail.url, token: 't' };
    const client = createQueryClient();
    await client.infiniteQuery(auditPages(options));
    const mutation = client.getMutationCache().build(client, keyDeletion(options, client));
    const outcome = await mutation.execute('ci-key').catch((error: unknown) => error);
    if (code !== undefined) expect(outcome).toMatchObject({ code });
    const [query] = client.getQueryCache().findAll({ queryKey: ['audit'] });
    expect(query?.state.isInvalidated).toBe(true);
    expect(trail.sent()).toEqual(['GET', 'DELETE']);
  });
});

describe('the mutation cache of TanStack Query', () => {
  it('keeps the variables and the result of a mutation: do not log in with one', async () => {
    await using trail = await startTrail();
    const client = createQueryClient();
    const mutation = client.getMutationCache().build(client, {
      mutationFn: (clientSecret: string) =>
        request(LoginDocument, { clientId: 'c', credential: { clientSecret } }, trail),
    });
    await mutation.execute('s3cret');
    const [{ state } = {}] = client.getMutationCache().getAll();
    expect(state?.variables).toBe('s3cret');
    expect(JSON.stringify(state?.data)).toContain('tok3n');
  });
});

describe('the RetryLink of Apollo Client', () => {
  /** Counts the requests of an operation to a gateway that closes every connection. */
  async function attempts(
    run: (client: ReturnType<typeof apollo.createClient>) => Promise<unknown>,
  ) {
    await using gateway = await startService(lose);
    await expect(run(apollo.createClient(gateway.url, 't'))).rejects.toThrow();
    return gateway.seen.length;
  }

  it('repeats a query, but neither a login nor a deletion', async () => {
    expect(
      await attempts((client) => client.query({ query: parse('{ audit { totalCount } }') })),
    ).toBe(3);
    const mutation = parse(LoginDocument.toString());
    const variables = { clientId: 'c', credential };
    expect(await attempts((client) => client.mutate({ mutation, variables }))).toBe(1);
    expect(await attempts((client) => apollo.deleteApiKey(client, 'ci-key'))).toBe(1);
  });
});

describe('MSW', () => {
  it('mocks Keytrail in msw.test.ts, which runs as written', async () => {
    const sources = new URL('../helpers/resolve-to-sources.ts', import.meta.url).href;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--import', sources, '--test', 'msw.test.ts'],
      { cwd: fileURLToPath(new URL('../../examples/graphql-clients/', import.meta.url)), env: {} },
    );
    expect(stdout).toMatch(/pass 2\n.*fail 0\n/);
  });
});
