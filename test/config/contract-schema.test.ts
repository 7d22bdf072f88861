import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseContract } from '../../src/config/contract-schema.ts';
import { ask, codeOf, gatewayOver } from '../helpers/gateway.ts';
import { startService } from '../helpers/service.ts';

const READ = '{ audit { nodes { id occurredAt action ipAddress actor { name } } totalCount } }';

describe('a contract', () => {
  it.each([
    ['{', ['JSON']],
    ['[]', ['the top level']],
    ['{"logins": {}}', ['/logins']],
    [
      '{"audit": {"record": "", "paging": {"sytle": "page"}}}',
      ['/audit/paging/sytle', '/audit/record'],
    ],
    ['{"audit": {"records": "items"}}', ['/audit/records']],
    [
      '{"audit": {"event": {"id": "/a~2", "action": ["/a", "b"]}}}',
      ['/audit/event/id', '/audit/event/action'],
    ],
    ['{"login": {"expires": {"at": "/a", "as": "fortnights"}}}', ['/login/expires/as']],
    [
      '{"audit": {"event": {"occurredAt": {"at": "/a", "as": "minutes"}}}}',
      ['/audit/event/occurredAt'],
    ],
    [
      '{"audit": {"paging": {"style": "scroll", "parameter": ""}}}',
      ['/audit/paging/style', '/audit/paging/parameter'],
    ],
    ['{"__proto__": {"a": 1}}', ['/__proto__']],
  ])('%s is rejected, and every problem names its entry', (text, entries) => {
    const parsed = parseContract(text);
    const problems = 'problems' in parsed ? parsed.problems : [];
    expect(problems).toHaveLength(entries.length);
    for (const [index, entry] of entries.entries()) expect(problems[index]).toContain(entry);
  });

  it('is valid or rejected with problems, for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        const parsed = parseContract(text);
        expect('contract' in parsed || parsed.problems.length > 0).toBe(true);
      }),
    );
  });

  it('specifies where fields are; omitted entries are inferred, and null ones are not', async () => {
    const item = { key: { n: 9 }, what: 'a', action: 'b', time: '2026-11-21T00:00:00Z', ip: '::1' };
    await using service = await startService({
      body: { a: [item], b: [{ time: item.time }] },
      headers: { 'x-found': '7' },
    });
    await using gateway = gatewayOver(service.url, {
      contract: {
        audit: {
          records: '/a',
          total: { header: 'X-Found' },
          event: { id: '/key/n', action: ['/who', '/what'], ipAddress: null },
        },
      },
    });
    const { data } = await ask(gateway, READ, undefined, { token: 't' });
    const occurredAt = '2026-11-21T00:00:00.000Z';
    expect(data).toEqual({
      audit: {
        nodes: [{ id: '9', occurredAt, action: 'a', ipAddress: null, actor: null }],
        totalCount: 7,
      },
    });
    expect(gateway.logged.some((line) => line.includes('contract'))).toBe(false);
  });

  it('whose pointers match nothing is logged with a count, without values', async () => {
    await using service = await startService({ body: [{ id: 'CANARY', when: 1_700_000_000 }] });
    await using gateway = gatewayOver(service.url, {
      contract: {
        audit: {
          total: '/n',
          event: { action: '/verb', actor: { name: ['/a', '/b'] }, id: '/id' },
        },
      },
    });
    for (let round = 0; round < 2; round += 1) {
      await ask(gateway, READ, undefined, { token: 't' });
    }
    const lines = gateway.logged.filter((line) => line.includes('contract'));
    expect(lines).toHaveLength(2);
    expect(JSON.parse(lines[1] ?? '')).toMatchObject({
      level: 40,
      responses: { 'audit.total': 2, 'audit.event.action': 2, 'audit.event.actor.name': 2 },
    });
    expect(lines.join()).not.toContain('CANARY');
  });

  it('does not hide why a response has no records: the service reports a failure, or it cannot be read', async () => {
    for (const [body, code] of [
      [{ items: 5 }, 'UPSTREAM_BAD_RESPONSE'],
      [{ ok: false, items: [] }, 'UPSTREAM_ERROR'],
    ] as const) {
      await using service = await startService({ body });
      await using gateway = gatewayOver(service.url, {
        contract: { audit: { records: '/items' } },
      });
      expect(codeOf(await ask(gateway, READ, undefined, { token: 't' }))).toBe(code);
    }
  });
});
