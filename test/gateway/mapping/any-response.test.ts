import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/errors.ts';
import { completeAudit } from '../../../src/gateway/inference/complete-contract.ts';
import { toReadableLogin } from '../../../src/gateway/inference/login.ts';
import { readDeletion, requireDeletion } from '../../../src/gateway/mapping/deletion.ts';
import { readAuditPage } from '../../../src/gateway/mapping/event.ts';
import { readLogin } from '../../../src/gateway/mapping/login.ts';
import { resolveConnection } from '../../../src/gateway/pagination/resolve-connection.ts';
import { FIELDS } from '../../../src/terminal/learn/learn-contract.ts';
import type { UpstreamResponse } from '../../../src/util/upstream-response.ts';

/** Any JSON, with keys that inference recognises, and keys that are special in JavaScript. */
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.jsonValue({ maxDepth: 1 }),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(
      fc.constantFrom(
        ...[
          'toString',
          'valueOf',
          '__proto__',
          'length',
          'id',
          'time',
          'action',
          'actor',
          'target',
        ],
        ...[
          'outcome',
          'status',
          'success',
          'error',
          'data',
          'events',
          'total',
          'access_token',
          'expires_in',
          'source',
          'object',
          'status_code',
          'ip',
        ],
      ),
      tie('value'),
      { maxKeys: 5 },
    ),
  ),
})).value;

function responseWith(body: unknown): UpstreamResponse {
  return { status: 200, headers: {}, body };
}

function readInferred(body: unknown) {
  return readAuditPage(completeAudit(responseWith(body)), responseWith(body));
}

describe('any JSON', () => {
  it.each([
    [
      'a login',
      async (body: unknown) =>
        readLogin(
          toReadableLogin(responseWith(body), {}),
          responseWith(body),
          new Date(0),
          () => '',
        ),
    ],
    [
      'a deletion',
      async (body: unknown) => {
        const response = responseWith(body);
        return requireDeletion(readDeletion(response, {}, ''), response, {});
      },
    ],
    [
      'a trail',
      async (body: unknown) => {
        const page = await resolveConnection(async () => readInferred(body), {});
        return [
          page.totalCount(),
          page.edges.map(({ page: trail, index }) => FIELDS.map((name) => trail.item(index)[name])),
        ];
      },
    ],
  ])('is read as %s, or fails with a GatewayError', async (_, read) => {
    await fc.assert(
      fc.asyncProperty(json, async (body) => {
        try {
          await read(body);
        } catch (error) {
          expect(error).toBeInstanceOf(GatewayError);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it.each([{ status: { toString: 1 } }, { success: [{ valueOf: 2 }] }])(
    'is read if it has a special key: %j',
    (body) => {
      expect(readDeletion(responseWith(body), {}, '').result).not.toBe('NOT_FOUND');
      expect(readInferred([{ outcome: body.status, ...body }]).item(0).outcome).toBeNull();
    },
  );
});
