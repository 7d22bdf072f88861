import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  AuditDocument,
  DeleteApiKeyDocument,
  LoginDocument,
} from '../../src/client/operations.generated.ts';
import type { ConfiguredContract, MappedDeletion } from '../../src/gateway/mapping/contract.ts';
import { ask, codeOf, gatewayOver, type TestGateway } from '../helpers/gateway.ts';
import { type Service, type ServiceResponse, startService } from '../helpers/service.ts';

/** A response of a real service or library to a deletion, and what it means: an outcome or a code. */
type Sample = {
  readonly service: string;
  readonly source: string;
  readonly status?: number;
  readonly body: unknown;
  /** The entry that it needs: without it, the outcome is an error. */
  readonly contract?: MappedDeletion;
  readonly expect: string;
};

const SAMPLES: readonly Sample[] = JSON.parse(
  readFileSync(new URL('../fixtures/deletions.json', import.meta.url), 'utf8'),
);

let response: ServiceResponse = {};
let service: Service;
let gateway: TestGateway;

beforeAll(async () => {
  service = await startService(() => response);
  gateway = gatewayOver(service.url);
});

afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

/**
 * Deletes a key of a service that sends this body. Returns the outcome, or the code and the reason.
 * @param outcome The entry of the contract, if it has one.
 */
async function remove(
  body: unknown,
  status = 200,
  outcome?: MappedDeletion | null,
): Promise<string> {
  await using over =
    outcome === undefined
      ? null
      : gatewayOver(service.url, { contract: { deletion: { outcome } } });
  const isText = typeof body === 'string' && !/^(?:[-\d]+$|")/.test(body);
  response = {
    status,
    body,
    headers: { 'content-type': isText ? 'text/plain' : 'application/json' },
  };
  service.forget();
  const result = await ask(
    over ?? gateway,
    DeleteApiKeyDocument,
    { clientId: 'k' },
    { token: 't' },
  );
  expect(service.seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
    'DELETE /api/v1/secrets/k',
  ]);
  const { reason = 'NO_REASON', upstream } = result.errors?.[0]?.extensions ?? {};
  if (result.errors === undefined) return result.data?.deleteApiKey?.outcome ?? 'nothing';
  expect(upstream).toEqual({ status });
  return `${codeOf(result)} ${reason}`;
}

const FAILED = 'UPSTREAM_ERROR SAYS_IT_FAILED';
const NOT_FOUND = 'NOT_FOUND SAYS_IT_FAILED';
const UNKNOWN = 'OUTCOME_UNKNOWN FIELD_UNREAD';

describe('W1: a deletion', () => {
  it('has at least 45 samples that mean it, and as many that do not', () => {
    const isDone = ({ expect: wanted }: Sample) => /^(?:DELETED|ACCEPTED)$/.test(wanted);
    expect(SAMPLES.filter(isDone).length).toBeGreaterThanOrEqual(45);
    expect(SAMPLES.filter((sample) => !isDone(sample)).length).toBeGreaterThanOrEqual(45);
  });

  it.each(SAMPLES.map((sample) => ({ ...sample, text: JSON.stringify(sample.body).slice(0, 60) })))(
    'W1: $service responds with $text: $expect',
    async ({ body, status, contract, expect: wanted }) => {
      const isDone = /^(?:DELETED|ACCEPTED)$/.test(wanted);
      const sent = typeof body === 'object' && body !== null ? body : String(body);
      const expected = isDone ? wanted : `${wanted} SAYS_IT_FAILED`;
      const inferred = isDone ? UNKNOWN : FAILED;
      expect(await remove(sent, status)).toBe(contract === undefined ? expected : inferred);
      expect(await remove(sent, status, contract)).toBe(expected);
    },
  );

  it.each<readonly [string, unknown]>([
    ['a flag', { revoked: 'false' }],
    ['a flag with the ID', { client_id: 'k', invalidated: 0 }],
    ['a flag in words', { removed: 'nothing' }],
    ['a flag with a noun', { keyRevoked: false }],
    ['a flag in a question', { wasDeleted: false }],
    ['a flag in wrappers', { data: { result: { erased: false } } }],
    ['a verb that disables', { client_id: 'k', deactivated: false, message: '' }],
    ['an empty list', { destroyed: [] }],
    ['a list that is null', { DeletedKeys: null, Took: 3 }],
    ['no rows', { rows_affected: '0' }],
    ['no rows, rarely named', { numberOfAffectedRows: 0 }],
    ['no rows, in a result', { success: true, result: { rowCount: 0 } }],
    ['no row changed', { code: 200, data: { modifiedCount: 0 } }],
    ['no rows in a list of statements', [{ affected: 0 }]],
    [
      'no row, of a driver with the last row',
      { success: true, meta: { changes: 0, last_row_id: 5 } },
    ],
    ['a number as data', { code: 200, msg: 'success', data: 0 }],
    ['false as data', { success: true, data: false }],
    ['an empty list as data', { data: [] }],
    ['a number as text', '0'],
    ['false as text', '"false"'],
    ['a negative number', '-1'],
    ['an empty tuple', [[], 0]],
    ['not changed', { changed: false }],
    ['not applied', { applied: false, current: { state: 'x' } }],
    ['not accepted', { accepted: false }],
    ['an error count', { deleted: 1, error_count: 1 }],
    ['a failure count', { numFailures: 2 }],
    ['failed IDs', { failed_ids: ['k'] }],
    ['skipped IDs', { deleted: [], skipped: ['k'] }],
    ['a rejected list', { rejected: [{ id: 'k' }] }],
    ['unprocessed items', { UnprocessedItems: { keys: [{ DeleteRequest: {} }] } }],
    ['a conflict', { version_conflicts: 1 }],
    ['a flag of a failure', { fail: true }],
    ['a failure count beside one of successes', { successCount: 0, failCount: 1 }],
    ['an imperative that is false', { delete: false }],
    ['a task that has failed and is complete', { isFaulted: true, isCompleted: true }],
    ['a number of an error', { errNo: 3 }],
    [
      'an error whose code is none, but not its text',
      { error: { code: 0, message: 'Key is in use' } },
    ],
    ['a reason of the refusal', { status_reason: 'The key cannot be deleted' }],
    ['a success far behind in a text of an error', { error: `${'x '.repeat(600)}success` }],
    ['a scope that is missing', { error: 'missing_scope' }],
    ['another thing that is missing', { code: 'user_not_found' }],
    [
      'an error whose code is a success, but not its text',
      { error: { code: 200, message: 'Server Error' } },
    ],
    ['a dry run', { dry_run: true, deleted: ['k'] }],
    ['a dry run of Kubernetes', { dryRun: ['All'] }],
    ['a preview', { wouldDelete: ['k'] }],
    ['a confirmation that is missing', { requires_confirmation: true, token: 'x' }],
    ['a mutation that is null', { data: { revokeApiKey: null } }],
    ['an error type', { type: 'error', id: 'e1' }],
    ['an exception', { __type: 'com.amazon#AccessDeniedException' }],
    ['an error of its own name', { userErrors: [{ field: 'id' }] }],
    ['an inner 5xx', { results: [{ id: 'k', status: 503 }] }],
    ['an inner status text', { responses: [{ status: 'HTTP/1.1 423 Locked' }] }],
    ['a text', { message: 'Nothing was deleted.' }],
    ['a text about rows', { info: '0 rows affected' }],
    ['a text about no rows', { message: 'No rows deleted' }],
    ['a text about inability', { detail: 'The key could not be removed: it is in use.' }],
    ['a text about permission', { msg: "You don't have permission to revoke this key" }],
    ['a text about protection', 'Unable to delete protected key'],
    ['a text of an error', 'ERROR: relation does not work'],
    ['a text in a list', { warnings: ['Key was not deleted'] }],
    ['a status in words', { status: 'unchanged' }],
    ['a result that skips', { result: 'SKIPPED' }],
    ['a status of its own name', { deletion_status: 'FAILED' }],
    ['a part', { status: 'partial_success' }],
    ['a code in a header', { header: { resultCode: 'E_LOCKED' } }],
    ['an empty list of successes', { succeeded: [], failed: [] }],
    ['a success flag in a letter', { ok: 'N' }],
  ])('W1: says with %s that nothing was deleted', async (_, body) => {
    expect(await remove(body)).toBe(FAILED);
  });

  it.each<readonly [string, unknown]>([
    ['a list', { not_found: ['ci-bot'], deleted: [] }],
    ['a list of its own name', { missingKeys: ['k'] }],
    ['a count', { deletedCount: 0, notFoundCount: 1 }],
    ['unknown IDs', { unknown_ids: ['k'], removed: 0 }],
    ['a status', { status: 'NOT_FOUND' }],
    ['a code', { success: false, code: 'API_KEY_NOT_FOUND' }],
    ['a code without a word for found', { error: { code: 'NoSuchEntity' } }],
    ['an exception', { __type: 'ResourceNotFoundException', message: '' }],
    ['an inner status in a list', { results: [{ id: 'k', status: 404 }] }],
    ['an inner status in a list of its own', [{ client_id: 'k', code: '404', message: '' }]],
    ['an inner 410', { items: [{ statusCode: 410 }] }],
    ['an inner error', { data: { outcome: { errors: [{ reason: 'notFound' }] } } }],
  ])('W1: says with %s that there is no such key', async (_, body) => {
    expect(await remove(body, 207)).toBe(NOT_FOUND);
  });

  it.each<readonly [string, unknown]>([
    ['one row', { affected: 1 }],
    ['one count', { count: '1' }],
    ['no more keys', { remaining: 0 }],
    ['an empty list of what is left', { total: 0, count: 0, items: [] }],
    ['the keys that are left', [{ id: 'x', name: 'other', created_at: 1, revoked: false }]],
    [
      'the keys that are left, one of which failed',
      { keys: [{ id: 'x', name: 'y', deleted: false, status: 'failed', failed: 2 }] },
    ],
    ['an empty PHP array beside success', { success: true, data: [] }],
    ['null as data', { status: 'success', data: null }],
    ['a count of what hung on the key', { deleted: true, revoked_tokens: 0, sessions: [] }],
    ['a list and a count', { deleted: ['k'], deleted_sessions: 0, failed: [], skipped: 0 }],
    ['a soft deletion', { deleted: true, hard_deleted: false, dry_run: false }],
    ['only itself', { revoked: true, expired: false, in_use: false }],
    ['a text with a name', { message: "API key 'not-found-bot' deleted" }],
    ['a text with a name that ends in error', 'Deleted API key alert-on-error'],
    ['links', { id: 'k', _links: { delete: null, self: { href: '/k' } } }],
    ['permissions', { ok: true, permissions: { delete: false, deleteKeys: false } }],
    ['a time', { deleted_at: '2026-01-05T10:00:00Z', count: 0 }],
    ['a status', { client_id: 'k', status: 'revoked' }],
    ['a state that is absent', { state: 'absent', changed: true }],
    ['no confirmation', { confirmation_required: false, deleted: 1 }],
    ['a mutation', { data: { deleteApiKey: { apiKey: { id: 'k', name: 'ci' }, errors: [] } } }],
    ['a mutation that is true', { data: { deleteApiKey: true } }],
    ['a query that is repeated', { query: { deleted: false }, deleted: 1 }],
    ['statistics', { stats: { success: 0, hits: 0 }, took: 2 }],
  ])('W1: means it with %s', async (_, body) => {
    expect(await remove(body)).toBe('DELETED');
  });

  it.each([
    { done: false, name: 'operations/1' },
    { status: 'pending' },
    { data: { state: 'IN_PROGRESS' } },
    { id: 'k', name: 'ci', created_at: 1, state: 'DELETING' },
    { completed: false, job_id: 'j' },
  ])('W1: is not complete if the response says so: %j', async (body) => {
    expect(await remove(body)).toBe('ACCEPTED');
  });

  it.each<unknown>([
    { deleted: true, deletedCount: 0 },
    { deleted: true, affectedRows: 0 },
    { deleted: 0, archived: 1 },
    { deleted_keys: 0, deleted_sessions: 3 },
    { success: true, deleted: [] },
    { deleted: ['k'], failed: ['k'] },
    { deleted: 1, errors: 1 },
    { id: 'k', name: 'ci', deleted: false },
    { id: 'k', name: 'ci', message: 'Could not revoke the key' },
    { deleted: [{ id: 'k' }], errors: ['x'] },
    { status: 'deleted', error: 'x' },
  ])('W1: is an error if the response contradicts itself: %j', async (body) => {
    expect(await remove(body)).toBe(FAILED);
  });

  it.each<unknown>([
    { removed: { client_id: 'k', revoked: false, status: 'failed' } },
    { deleted: [{ id: 'k', revoked: false }], count: 1 },
    { id: 'k', name: 'ci', usage: { count: 0, failed: 3 }, last_run: { status: 'failed' } },
    { client_id: 'k', usage: { count: 0 }, setup: { completed: false, changes: 0 } },
    { id: 'k', type: 'unknown', limits: { n: 0 } },
    {
      message: 'ok',
      key: { uuid: 'u', label: 'x', error: null, deleted_at: null, archived: false },
    },
  ])('W1: means it with the key as it was: %j', async (body) => {
    expect(await remove(body)).toBe('DELETED');
  });

  it.each<readonly [string, string]>([
    ['10 rows deleted', 'DELETED'],
    ['1 record(s) deleted', 'DELETED'],
    ['Deleted the previously revoked key', 'DELETED'],
    ['Key removed or revoked', 'DELETED'],
    ['Deletion successful', 'DELETED'],
    ['Deleted 1 key in 0.2 s', 'DELETED'],
    ['Key revoked; its data will be deleted in 30 days', 'DELETED'],
    ['Deleted. 2 webhooks were not found.', 'DELETED'],
    ['Successfully deleted key; no dependent tokens found', 'DELETED'],
    ['Key removed. If this was an error, contact support', 'DELETED'],
    ['Deleted. This cannot be undone.', 'DELETED'],
    ['The key will be deleted in 30 days', 'ACCEPTED'],
    ['Scheduled for deletion', 'ACCEPTED'],
  ])('W1: reads the text %j as %s', async (text, expected) => {
    for (const body of [text, { message: text }, { success: true, data: { detail: text } }])
      expect(await remove(body)).toBe(expected);
  });

  it.each([
    '0 record(s) deleted',
    'Deleted 0 keys',
    'Cannot delete the last key',
    "You can't delete this key",
    'Key was not deleted',
    'The key is not deleted yet',
    'Nothing to delete',
    'Deletion was not successful',
    'An error occurred while deleting the key',
    'Something went wrong',
    'You are not allowed to delete this key',
    'Access denied: key not found',
    'Key to be deleted not found',
    'Key not found. Deleted keys are kept for 30 days',
    'No ApiKey matches the given query.',
    'Record to delete does not exist.',
    "Couldn't find ApiKey with 'id'=k",
    'The requested resource could not be found',
    'Unable to find key',
    'Key is already deleted',
    '404 page not found',
    "Client doesn't exist.",
    'Deleted 1 key, 0 failed',
    'Key deleted without errors',
    'Your API key was revoked and can no longer be used',
  ])(
    'W1: the text %j has a negation or a word of failure: an error that names the entry, which mends it',
    async (text) => {
      for (const [at, body, expected] of [
        ['', text, FAILED],
        ['/message', { message: text }, FAILED],
        // Beside a flag of success it contradicts itself.
        ['/data/detail', { success: true, data: { detail: text } }, UNKNOWN],
      ] as const) {
        expect(await remove(body)).toBe(expected);
        for (const outcome of ['DELETED', 'ACCEPTED'] as const)
          expect(await remove(body, 200, { at, map: { [text]: outcome } })).toBe(outcome);
        expect(await remove(body, 200, { at, map: { [text]: 'NOT_FOUND' } })).toBe(NOT_FOUND);
        expect(await remove(body, 200, null)).toBe('DELETED');
      }
      response = { body: { message: text } };
      const result = await ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' });
      expect(result.errors?.[0]?.message).toContain('`deletion.outcome`');
    },
  );

  it('W1: reads any text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), async (message) => {
        expect(await remove({ message })).toMatch(
          /^(?:DELETED|ACCEPTED|OUTCOME_UNKNOWN FIELD_UNREAD|.* SAYS_IT_FAILED)$/,
        );
      }),
      { numRuns: 100 },
    );
  });

  it.each<readonly [unknown, string]>([
    [{ k: false }, FAILED],
    [{ results: { k: 'failed' } }, FAILED],
    [{ k: 0 }, FAILED],
    [{ data: { k: 'not_found' } }, NOT_FOUND],
    [{ k: 404 }, NOT_FOUND],
    [{ k: { status: 404 } }, NOT_FOUND],
    [{ k: true, other: false }, 'DELETED'],
    [{ results: { k: 'deleted' } }, 'DELETED'],
    [{ k: 1 }, 'DELETED'],
  ])('W1: reads a result under the client ID: %j is %s', async (body, expected) => {
    expect(await remove(body)).toBe(expected);
  });

  it('W1: names what to do next, and repeats nothing of the response', async () => {
    response = { body: { revoked: false, note: 'canary-7f3a' } };
    const result = await ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' });
    expect(result.errors?.[0]?.message).toMatch(/nothing was deleted.*before you repeat it/);
    expect(result.text + gateway.logged.join()).not.toContain('canary-7f3a');
    expect(result.errors?.[0]?.extensions.retryable).toBe(false);
  });

  const VERBS = ['deleted', 'removed', 'revoked', 'destroyed', 'purged', 'erased', 'invalidated'];
  const name = fc
    .tuple(
      fc.constantFrom('', 'is_', 'num_', 'total_', 'keys_', 'api_keys_'),
      fc.constantFrom(...VERBS),
      fc.constantFrom('', '_count', '_keys', '_key_ids', '_rows'),
    )
    .map((parts) => parts.join(''))
    .chain((snake) =>
      fc.constantFrom(
        snake,
        snake.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
        snake.toUpperCase(),
        snake.replaceAll('_', '-'),
      ),
    );
  const wrap = fc
    .array(fc.constantFrom('data', 'result', 'response', 'meta'), { maxLength: 3 })
    .map((keys) => (body: unknown) => keys.reduce((inner, key) => ({ [key]: inner }), body));

  it('W1: is failed with any verb and any zero, in any case style and wrapper', async () => {
    const zero = fc.constantFrom<unknown>(false, 0, '0', 'false', 'no', []);
    await fc.assert(
      fc.asyncProperty(name, zero, wrap, async (key, value, inside) => {
        expect(await remove(inside({ [key]: value }))).toBe(FAILED);
      }),
      { numRuns: 200 },
    );
  });

  it('W1: is done with any verb and any other value', async () => {
    const one = fc.constantFrom<unknown>(true, 1, '1', 'true', 'yes', ['k'], 'k');
    await fc.assert(
      fc.asyncProperty(name, one, wrap, async (key, value, inside) => {
        expect(await remove(inside({ [key]: value }))).toBe('DELETED');
      }),
      { numRuns: 200 },
    );
  });

  it('W1: is done if the response is the key, whatever its state was', async () => {
    const state = fc.constantFrom(
      ...['revoked', 'disabled', 'isExpired', 'archived', 'enabled', 'is_active', 'locked'],
      ...['count', 'changes', 'modified', 'usage_count', 'failedLogins', 'error_count', 'total'],
    );
    const value = fc.constantFrom<unknown>(false, true, 0, 3, null);
    const key = fc.tuple(
      fc.constantFrom('id', 'client_id', 'keyId', '_id', 'uuid'),
      fc.constantFrom('name', 'label', 'created_at', 'scopes', 'lastUsedAt'),
      fc.dictionary(state, value),
    );
    await fc.assert(
      fc.asyncProperty(key, wrap, async ([id, described, rest], inside) => {
        expect(await remove(inside({ [id]: 'k', [described]: 'x', ...rest }))).toBe('DELETED');
      }),
      { numRuns: 200 },
    );
  });
});

describe('a deletion whose response is not understood', () => {
  it.each<unknown>([
    { status: 'inactive' },
    { code: 'E1001' },
    { code: 7, msg: 'x' },
    { reason: 'key_in_use' },
    { result: 'zurückgezogen' },
    { effective: false },
    { sessions: 0 },
    { deleted_at: null },
    { result: { status: 'gone' } },
    { forwarded: false },
    { forwarded: true },
    { code: -1, msg: 'x' },
    { success: true, message: 'No changes made' },
    { success: true, warnings: ['Key was not deleted'] },
    { success: true, status: 'inactive' },
    { status: 'ok', code: 'E1001' },
    { message: 'xyzzy' },
    { res: 9411 },
    { ack: 'NAK2' },
    { rtn: 5 },
    { loggedOut: false },
    { affected: null },
    { updateCount: 0 },
    { status: 'Canceled' },
    { statusCode: '300' },
    { renewable: false, data: null },
    { errmsg: 'in use' },
  ])('is OUTCOME_UNKNOWN, and names the entry: %j', async (body) => {
    expect(await remove(body)).toBe(UNKNOWN);
    expect(await remove(body, 202)).toBe('ACCEPTED');
    expect(await remove(body, 200, null)).toBe('DELETED');
    response = { body };
    const result = await ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' });
    expect(result.errors?.[0]?.message).toMatch(/`deletion.outcome`.*check before you repeat/);
    expect(result.errors?.[0]?.extensions.retryable).toBe(false);
  });

  it.each<unknown>([
    { deleted: true, status: 'inactive' },
    { deleted: true, reason: 'requested' },
    { success: 1, sessions: 0 },
    { resultCode: '0000', sessions: 2 },
    { status: 1, msg: 'success', sessions: 0 },
    { success: '1' },
    { returnCode: '0' },
    { code: 20000, data: 'success' },
    { message: 'Key revoked', active: false },
    { deleted: true, revocation_reason: 'No longer needed' },
    { success: true, error: { code: 'ok', log_id: 'x' } },
    { data: { deleteClient: { clientMutationId: null } } },
    { message: 'No Content' },
    { client_id: 'k' },
  ])('is DELETED if something else says so: %j', async (body) => {
    expect(await remove(body)).toBe('DELETED');
  });
});

describe('a deletion that is not complete', () => {
  it.each<unknown>([
    { pending: true },
    { deletion_scheduled: true },
    { id: 'k', scheduled_deletion_at: '2030-01-01' },
    { id: 'j-1', name: 'delete-key', created_at: '2026-01-01', state: 'queued' },
  ])('is ACCEPTED: %j', async (body) => {
    expect(await remove(body)).toBe('ACCEPTED');
  });
});

describe('a deletion whose contract has `deletion.outcome`', () => {
  const outcome = {
    at: '/result/status',
    map: { gone: 'DELETED', queued: 'ACCEPTED', none: 'NOT_FOUND', kept: 'FAILED' },
  } as const;

  it.each([
    ['gone', 'DELETED'],
    ['queued', 'ACCEPTED'],
    ['none', NOT_FOUND],
    ['kept', FAILED],
    ['other', UNKNOWN],
    ['toString', UNKNOWN],
    [null, UNKNOWN],
    [true, UNKNOWN],
    [0, UNKNOWN],
    [['gone'], UNKNOWN],
    [{}, UNKNOWN],
    [undefined, UNKNOWN],
  ] as const)(
    'has the outcome of the value, whatever else it says: %j is %s',
    async (status, expected) => {
      for (const rest of [{}, { success: false, deleted: 0, code: 404 }, { deleted: true }])
        expect(await remove({ ...rest, result: { status } }, 200, outcome)).toBe(expected);
    },
  );

  it('names the entry to add a key to, and repeats no value', async () => {
    response = { body: { result: { status: 'canary-7f3a' } } };
    await using over = gatewayOver(service.url, { contract: { deletion: { outcome } } });
    const result = await ask(over, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' });
    expect(result.errors?.[0]?.message).toMatch(/no key of the map `deletion.outcome`.*check/);
    expect(result.text + over.logged.join()).not.toContain('canary-7f3a');
  });

  it('reads the number of items of a list, the pointer that leads to a value, and a part of a text', async () => {
    const items = { at: '/deleted', map: { 0: 'NOT_FOUND', 1: 'DELETED' } } as const;
    expect(await remove({ deleted: [] }, 200, items)).toBe(NOT_FOUND);
    expect(await remove({ deleted: ['k'] }, 200, items)).toBe('DELETED');
    expect(await remove({ deleted: ['k', 'l'] }, 200, items)).toBe(UNKNOWN);
    const two = { at: ['/error/code', '/code'], map: { 7: 'FAILED', OK: 'DELETED' } } as const;
    expect(await remove({ error: { code: 7 }, code: 'OK' }, 200, two)).toBe(FAILED);
    expect(await remove({ error: null, code: 'OK' }, 200, two)).toBe('DELETED');
    const part = { at: '/status', split: ':', part: 2, map: { gone: 'DELETED' } } as const;
    expect(await remove({ status: 'key:gone' }, 200, part)).toBe('DELETED');
    expect(await remove({ status: 'key:kept' }, 200, part)).toBe(UNKNOWN);
  });

  it('reads no value as the key "null", and a response without a body by its status', async () => {
    const empty = { at: '/error', map: { null: 'DELETED' } } as const;
    expect(await remove({ error: null }, 200, empty)).toBe('DELETED');
    expect(await remove({ warnings: ['not deleted'] }, 200, empty)).toBe('DELETED');
    expect(await remove({ error: 'x' }, 200, empty)).toBe(UNKNOWN);
    expect(await remove(undefined, 204, outcome)).toBe('DELETED');
    expect(await remove(undefined, 202, outcome)).toBe('ACCEPTED');
    expect(await remove(undefined, 200, { at: '', map: { null: 'ACCEPTED' } })).toBe('ACCEPTED');
  });

  it('is never DELETED by a value without a key', async () => {
    const over = gatewayOver(service.url, { contract: { deletion: { outcome } } });
    await using _ = over;
    const value = fc.oneof(fc.jsonValue(), fc.constantFrom('gone', 'queued', 'none', 'kept'));
    await fc.assert(
      fc.asyncProperty(value, fc.jsonValue(), async (status, rest) => {
        response = { body: { rest, result: { status } } };
        const { data } = await ask(over, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' });
        const known = new Map<unknown, string>([
          ['gone', 'DELETED'],
          ['queued', 'ACCEPTED'],
        ]);
        expect(data?.deleteApiKey?.outcome).toBe(known.get(status));
      }),
      { numRuns: 200 },
    );
  });
});

describe('W2: a status 4xx in a 2xx response', () => {
  const send = {
    login: () => ask(gateway, LoginDocument, { clientId: 'c', credential: { clientSecret: 's' } }),
    audit: () => ask(gateway, AuditDocument, {}, { token: 't' }),
    deleteApiKey: () => ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' }),
  };

  it.each<readonly [keyof typeof send, object, string]>([
    ['login', { code: 401, message: '用户名或密码错误', data: null }, 'UNAUTHENTICATED'],
    ['login', { status: 403, error: 'FORBIDDEN' }, 'FORBIDDEN'],
    ['login', { meta: { statusCode: '429' } }, 'RATE_LIMITED'],
    ['audit', { code: '401', msg: 'token expired', rows: null }, 'UNAUTHENTICATED'],
    ['audit', { httpStatus: 403, records: [], error: 'x' }, 'FORBIDDEN'],
    ['audit', { status: 429 }, 'RATE_LIMITED'],
    ['deleteApiKey', { code: 401, success: false }, 'UNAUTHENTICATED'],
    ['deleteApiKey', { response: { status: { code: 403 } } }, 'FORBIDDEN'],
    ['deleteApiKey', { error: { http_status_code: 429 } }, 'RATE_LIMITED'],
    ['deleteApiKey', { code: 404, message: 'x' }, 'NOT_FOUND'],
  ])('W2: to %s, %j has the code of that status: %s', async (operation, body, code) => {
    response = { body };
    const result = await send[operation]();
    expect(codeOf(result)).toBe(code);
    expect(result.errors?.[0]?.extensions).toMatchObject({
      reason: 'SAYS_IT_FAILED',
      upstream: { status: 200 },
    });
  });
});

const NOW = new Date('2026-11-21T12:00:00.000Z');

/** An hour later. */
const EXP = NOW.getTime() / 1000 + 3600;
const toJwt = (claims: object) => `e30.${btoa(JSON.stringify(claims))}.`;

/** Logs in at a service that sends this body. */
async function logIn(
  body: unknown,
  {
    login,
    headers,
  }: { login?: ConfiguredContract['login']; headers?: Record<string, string> } = {},
) {
  await using upstream = await startService({ body, headers: headers ?? {} });
  await using over = gatewayOver(upstream.url, {
    now: () => NOW,
    contract: login === undefined ? {} : { login },
  });
  const credential = { clientSecret: 's' };
  const result = await ask(over, LoginDocument, { clientId: 'c', credential });
  expect(upstream.seen.map(({ body: sent }) => JSON.parse(sent))).toEqual([
    { client_id: 'c', client_secret: 's' },
  ]);
  return result;
}

async function tokenOf(...args: Parameters<typeof logIn>): Promise<string | undefined> {
  const result = await logIn(...args);
  const { reason } = result.errors?.[0]?.extensions ?? {};
  return result.data?.login?.accessToken ?? `${codeOf(result)} ${reason}`;
}

const NO_TOKEN = 'UPSTREAM_BAD_RESPONSE NO_TOKEN';

describe('W3: access tokens in a list', () => {
  it.each<unknown>([
    { access_token: ['a', 'b'] },
    { data: { accessToken: ['a', 'a', 'b'] } },
    { tokens: [{ access: 'a' }, { access: 'b' }] },
    {
      tokens: [
        { access_token: 'a', aud: 'x' },
        { access_token: 'b', aud: 'y' },
      ],
    },
    { token: [['a'], ['b']] },
    { sessions: [{ tokens: [{ jwt: 'a' }] }, { tokens: [{ jwt: 'b' }] }] },
  ])('W3: are ambiguous if they differ: %j', async (body) => {
    expect(await tokenOf(body)).toBe(NO_TOKEN);
  });

  it.each<readonly [unknown, string]>([
    [{ access_token: ['a'] }, 'a'],
    [{ tokens: [{ access_token: 'a' }] }, 'a'],
    [{ tokens: [{ refresh_token: 'r' }, { access_token: 'a' }] }, 'a'],
    [{ token: [['a']] }, 'a'],
    [{ access_token: ['a', 'a'] }, 'a'],
    [{ access_token: 'a', others: [{ access_token: 'b' }, { access_token: 'c' }] }, 'a'],
  ])('W3: are read if there is one: %j', async (body, token) => {
    expect(await tokenOf(body)).toBe(token);
  });

  it('W3: the expiry is that of the token that is read', async () => {
    const tokens = [
      { refresh_token: 'r', expires_in: 86_400 },
      { access_token: 'a', expires_in: 3600 },
    ];
    expect((await logIn({ tokens })).data?.login).toEqual({
      accessToken: 'a',
      tokenType: 'Bearer',
      refreshToken: 'r',
      expiresAt: '2026-11-21T13:00:00.000Z',
    });
  });

  it.each<readonly [unknown, string]>([
    [['a', 'b'], NO_TOKEN],
    [[['a'], ['b']], NO_TOKEN],
    [[{ token: 'a' }], NO_TOKEN],
    [[], NO_TOKEN],
    [['a'], 'a'],
    [[['a']], 'a'],
    [['Bearer a', 'Bearer a'], 'a'],
  ])('W3: where a pointer of the contract leads: %j is %s', async (tokens, expected) => {
    const login = { accessToken: ['/none', '/tokens'] };
    expect(await tokenOf({ tokens, access_token: 'x' }, { login })).toBe(expected);
  });

  it('W3: a repeated header with two tokens is ambiguous', async () => {
    let tokens = ['a', 'b'];
    await using upstream = await startService((_, reply) => {
      reply.setHeader('x-auth-token', tokens).end('{}');
      return undefined;
    });
    const login = { accessToken: { header: 'X-Auth-Token' } };
    await using over = gatewayOver(upstream.url, { contract: { login } });
    const variables = { clientId: 'c', credential: { clientSecret: 's' } };
    expect(codeOf(await ask(over, LoginDocument, variables))).toBe('UPSTREAM_BAD_RESPONSE');
    tokens = ['a', 'a'];
    expect((await ask(over, LoginDocument, variables)).data?.login?.accessToken).toBe('a');
  });

  it('W3: a list of any texts is read if they are all the same, and never guessed from otherwise', async () => {
    const texts = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 30 });
    const upstreamBody: { tokens: readonly string[] } = { tokens: [] };
    await using upstream = await startService(() => ({
      body: { access_token: upstreamBody.tokens },
    }));
    await using over = gatewayOver(upstream.url);
    await fc.assert(
      fc.asyncProperty(texts, async (tokens) => {
        upstreamBody.tokens = tokens;
        const variables = { clientId: 'c', credential: { clientSecret: 's' } };
        const { data } = await ask(over, LoginDocument, variables);
        const distinct = new Set(tokens.slice(0, 20));
        expect(data?.login?.accessToken).toBe(distinct.size === 1 ? tokens[0] : undefined);
      }),
      { numRuns: 100 },
    );
  });
});

describe('W4: an expiry that is not set', () => {
  it.each<unknown>([
    '0001-01-01T00:00:00Z',
    '0001-01-01T00:00:00.000Z',
    '0001-01-01T00:00:00.0000000+00:00',
    '0001-01-01T00:00:00+14:00',
    '0001-01-01T00:00:00-05:00',
    '0001-01-01T00:00:00',
    '/Date(-62135596800000)/',
    '0000-00-00 00:00:00',
    '0000-12-31T23:59:59Z',
    '1970-01-01T00:00:00Z',
    '1970-01-01T00:00:00-08:00',
    'Thu, 01 Jan 1970 00:00:00 GMT',
    '1900-01-01T00:00:00Z',
    0,
    '0',
    -1,
    -62_135_596_800,
  ])('W4: %j is null, and the claim of the token is used instead', async (expires_at) => {
    expect((await logIn({ access_token: 'a', expires_at })).data?.login?.expiresAt).toBeNull();
    const { data } = await logIn({ access_token: toJwt({ exp: EXP }), expires_at });
    expect(data?.login?.expiresAt).toBe('2026-11-21T13:00:00.000Z');
  });

  it.each<readonly [unknown, NonNullable<NonNullable<ConfiguredContract['login']>['expires']>]>([
    ['0001-01-01 00:00:00', { at: '/e', as: 'iso8601', zone: 'Europe/Berlin' }],
    ['01/01/0001 00:00:00', { at: '/e', as: { pattern: 'MM/dd/yyyy HH:mm:ss' }, zone: 'UTC' }],
    [-62_135_596_800, { at: '/e', as: 'epoch-seconds' }],
    [-62_135_596_800_000, { at: '/e', as: 'epoch-milliseconds' }],
    [0, { at: '/e', as: 'epoch-seconds' }],
    ['0', { at: '/e', as: 'epoch-milliseconds' }],
    [0, { at: '/e', as: 'seconds' }],
    [-1, { at: '/e', as: 'seconds' }],
    [toJwt({ exp: 0 }), { at: '/e', as: 'jwt' }],
  ])('W4: %j is null with a contract, too: %j', async (e, expires) => {
    const { data } = await logIn({ access_token: 'a', e }, { login: { expires } });
    expect(data?.login).toMatchObject({ accessToken: 'a', expiresAt: null });
  });

  it.each(['9999-12-31T23:59:59Z', '2027-01-01T00:00:00Z'])('W4: %s is a date', async (date) => {
    const { data } = await logIn({ access_token: 'a', expires_at: date });
    expect(data?.login?.expiresAt).toBe(date.replace('Z', '.000Z'));
  });

  it('W4: an event in the year 1 has no time, and one in 1970 has', async () => {
    const items = ['0001-01-01T00:00:00Z', '1970-01-01T00:00:00Z', '2026-01-01T00:00:00Z'].map(
      (created_at, id) => ({ id: String(id), action: 'a', created_at }),
    );
    response = { body: { items } };
    const { data } = await ask(gateway, AuditDocument, {}, { token: 't' });
    expect(data?.audit?.nodes?.map(({ occurredAt }) => occurredAt)).toEqual([
      null,
      '1970-01-01T00:00:00.000Z',
      '2026-01-01T00:00:00.000Z',
    ]);
  });
});

describe('W5: a plain name of a token', () => {
  it.each<unknown>([
    { encryptedAccessToken: 'x', accessToken: 'a' },
    { access_token: 'a', hashed_access_token: 'x' },
    { old_access_token: 'x', access_token: 'a', previousAccessToken: 'y' },
    { AccessToken: 'a', MaskedAccessToken: '***' },
    { token: 'a', cookie_token: 'x' },
    { token: 'a', encrypted_access_token: 'x' },
    { data: { jwt: 'a', cookieJwt: 'x' } },
    { previous: { access_token: 'x' }, access_token: 'a' },
    { access_token: { value: 'a' }, client_access_token: { value: 'x' } },
    { access_token: 'a', user_session_token: 'x' },
  ])('W5: wins over a qualified one: %j', async (body) => {
    expect(await tokenOf(body)).toBe('a');
  });

  it('W5: of a refresh token wins as well', async () => {
    const body = { access_token: 'a', encrypted_refresh_token: 'x', refresh_token: 'r' };
    expect((await logIn(body)).data?.login?.refreshToken).toBe('r');
  });

  it.each<readonly [unknown, string]>([
    [{ access_token: 'a', accessToken: 'b' }, NO_TOKEN],
    [{ client_access_token: 'a', service_access_token: 'b' }, NO_TOKEN],
    [{ encrypted_access_token: 'a', cookie_access_token: 'b' }, NO_TOKEN],
    [{ access_token: 'a', user: { access_token: 'b' } }, NO_TOKEN],
    [{ masked_access_token: '***' }, NO_TOKEN],
    [{ previous: { token: 'x' } }, NO_TOKEN],
    [{ service_access_token: 'a' }, 'a'],
    [{ encrypted_access_token: 'a' }, NO_TOKEN],
  ])('W5: is not there, or twice: %j is %s', async (body, expected) => {
    expect(await tokenOf(body)).toBe(expected);
  });
});

describe('C10: the message of an error', () => {
  const send = {
    login: () => ask(gateway, LoginDocument, { clientId: 'c', credential: { clientSecret: 's' } }),
    audit: () => ask(gateway, AuditDocument, {}, { token: 't' }),
    deleteApiKey: () => ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' }),
  };

  it.each<readonly [keyof typeof send, RegExp, RegExp]>([
    ['audit', /audit trail/, /API key|client ID|credential/],
    ['login', /client ID/, /API key|audit trail/],
    ['deleteApiKey', /client ID/, /credential|audit trail/],
  ])('C10: speaks of %s', async (operation, expected, other) => {
    for (const answer of [
      ...[400, 404, 410, 422].map((status) => ({ status })),
      { body: { code: 404, success: false } },
    ]) {
      response = answer;
      const message = (await send[operation]()).errors?.[0]?.message;
      expect(message).toMatch(expected);
      expect(message).not.toMatch(other);
    }
  });
});
