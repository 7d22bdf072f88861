import { expect, it } from 'vitest';
import { ask, codeOf, gatewayOver } from '../../helpers/gateway.ts';
import { startService } from '../../helpers/service.ts';

const READ =
  '{ audit(first: 2) { nodes { id occurredAt action actor { identifier name } target { identifier } } totalCount pageInfo { hasNextPage } } }';
const digits = '7'.repeat(400);
const time = '2026-11-21T00:00:00Z';
const million = Array.from({ length: 1e6 }, (_, id) => `{"id":${id},"ts":1700000000}`);

it.each<readonly [string, string, string, unknown]>([
  ['nothing', '', '', { nodes: [], totalCount: 0 }],
  ['null', 'null', '', { nodes: [], totalCount: 0 }],
  ['NaN', `[{"id": NaN, "time": "${time}"}]`, 'UPSTREAM_BAD_RESPONSE', null],
  ['no records', '{"items": []}', '', { nodes: [], totalCount: 0 }],
  [
    'no records next to an echoed filter and counts',
    '{"events": [], "filter": {"outcome": "failure"}, "meta": {"failed": 3}, "errorMessage": "Nothing was found"}',
    '',
    { nodes: [], totalCount: 0 },
  ],
  [
    'no records because it failed',
    '{"items": [], "status": {"success": false}}',
    'UPSTREAM_ERROR',
    null,
  ],
  [
    'a number of 400 digits',
    `{"total": ${digits}, "items": [{"id": ${digits}, "time": ${digits}, "action": 1e999}]}`,
    '',
    { nodes: [{ id: digits, occurredAt: null, action: '1e999' }], totalCount: null },
  ],
  [
    'keys that are special in JavaScript',
    `[{"__proto__": {"id": "x"}, "constructor": {"name": "y"}, "id": 1, "time": "${time}"}]`,
    '',
    { nodes: [{ id: '1', occurredAt: '2026-11-21T00:00:00.000Z', actor: null }] },
  ],
  [
    'a million records',
    `{"items":[${million.join(',')}]}`,
    '',
    { nodes: [{ id: '0' }, { id: '1' }], totalCount: 1e6, pageInfo: { hasNextPage: true } },
  ],
  [
    'a record with 19,000 keys',
    `[{"id": 1, "time": "${time}", ${Array.from({ length: 19_000 }, (_, n) => `"user${n}": ${n}`)}}]`,
    '',
    { nodes: [{ occurredAt: '2026-11-21T00:00:00.000Z' }] },
  ],
  [
    'a key of more than a million letters',
    `[{"id": 1, "${'userid'.repeat(2e5)}": 1, "time": "${time}"}]`,
    '',
    { nodes: [{ id: '1' }] },
  ],
  [
    'keys that can be split into words in many ways',
    `[{"id": 1, "time": "${time}", ${Array.from({ length: 5000 }, (_, n) => `"${'login'.repeat(15)}q${n}": 1`)}}]`,
    '',
    { nodes: [{ occurredAt: '2026-11-21T00:00:00.000Z' }] },
  ],
  [
    'values of seven million letters',
    `[{"id": 1, "time": "${time}", "actor": "${'a'.repeat(7e6)}", "target": "${'Aa'.repeat(35e5)}"}, {"id": 2, "actor": "b"}]`,
    '',
    { nodes: [{ id: '1', actor: null }, { id: '2' }] },
  ],
])(
  'a response with %s is read, or rejected with a code',
  async (_, body, code, expected) => {
    await using service = await startService({ body });
    await using gateway = gatewayOver(service.url, { upstream: { maxBytes: 2 ** 26 } });
    const result = await ask<{ audit: unknown }, never>(gateway, READ, undefined, { token: 't' });
    expect(result.status).toBe(200);
    expect(codeOf(result)).toBe(code);
    if (expected === null) expect(result.data?.audit).toBeNull();
    else expect(result.data).toMatchObject({ audit: expected });
  },
  30_000,
);
