import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createGateway } from '../../../src/gateway/api/create-gateway.ts';
import { checkContract, parseContract } from '../../../src/gateway/config/contract-schema.ts';
import { ask, codeOf, gatewayOver } from '../../helpers/gateway.ts';
import { startService } from '../../helpers/service.ts';

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
    ['{"$schema": 1}', ['/$schema']],
    [
      '{"audit": {"event": {"outcome": {"at": "/a", "map": {"A": "OK"}}}}}',
      ['/audit/event/outcome/map/A must be one of SUCCESS, FAILURE.'],
    ],
    [
      '{"audit": {"event": {"action": {"at": "a", "mapp": {}}}}}',
      ['/audit/event/action/at: ', '/audit/event/action/mapp is not', '/audit/event/action/map: '],
    ],
    [
      '{"audit": {"event": {"actor": {"type": {"at": "/a", "map": {}}}}}}',
      ['/audit/event/actor/type/map: must have an entry'],
    ],
    [
      '{"audit": {"event": {"target": {"type": {"at": "/a", "map": {"1": 2, "__proto__": "x"}}}}}}',
      ['/audit/event/target/type/map: must not have the key __proto__'],
    ],
    [
      '{"audit": {"event": {"actor": {"apiKey": false}, "target": {"apiKey": "/is_key"}}}}',
      [
        '/audit/event/actor/apiKey: must be true, a list',
        '/audit/event/target/apiKey: must be true',
      ],
    ],
    ['{"audit": {"event": {"id": {"at": "/a", "map": {"1": "2"}}}}}', ['/audit/event/id: ']],
    [
      '{"audit": {"event": {"outcome": ["/ok", "/hasErrors"]}}}',
      ['/audit/event/outcome/1: has the name of a flag that is true if the action failed'],
    ],
    [
      '{"audit": {"event": {"occurredAt": {"at": "/a", "as": "iso8601", "zone": "Mars"}}}}',
      ['/audit/event/occurredAt/zone: must be a time zone: "UTC"'],
    ],
    [
      '{"audit": {"event": {"occurredAt": {"at": "/a", "as": "rfc2822", "zone": "UTC"}}}}',
      ['/audit/event/occurredAt/zone: is only for iso8601 and patterns'],
    ],
    [
      '{"audit": {"event": {"occurredAt": {"at": "/a", "as": {"pattern": "yyyy-MM-dd HH:mm"}}}}}',
      ['/audit/event/occurredAt/zone: must be set'],
    ],
    [
      '{"audit": {"event": {"occurredAt": {"at": "/a", "as": {"pattern": "yyyy QQ"}, "zone": "UTC"}}}}',
      ['/audit/event/occurredAt/as/pattern: must have a year'],
    ],
    [
      '{"audit": {"event": {"occurredAt": {"at": "/a", "as": "iso8601", "join": "T"}}}}',
      ['/audit/event/occurredAt/join: needs a list of pointers'],
    ],
    [
      '{"login": {"expires": {"at": "/a", "as": {"pattern": "yyyy-MM-dd HH:mm"}}}}',
      ['/login/expires/zone: must be set'],
    ],
    ['{"login": {"expires": {"at": "/a", "as": "jwt", "zone": "UTC"}}}', ['/login/expires/zone: ']],
    ['{"login": {"accessToken": {"header": "a b"}}}', ['/login/accessToken/header: ']],
  ])('%s is rejected, and every problem names its entry', (text, entries) => {
    const parsed = parseContract(text);
    const problems = 'problems' in parsed ? parsed.problems : [];
    expect(problems).toHaveLength(entries.length);
    for (const [index, entry] of entries.entries()) expect(problems[index]).toContain(entry);
  });

  it.each([
    ...['is_failure', 'failed', 'isError', 'has_errors', 'error', 'Denied', 'is-denied', 'blocked'],
    ...['rejected', 'access_denied', 'loginFailed', 'isUnauthorized', 'invalid', 'aborted'],
  ])('is rejected if the outcome is the flag %s without a map', (name) => {
    const entry = (outcome: unknown) => checkContract({ audit: { event: { outcome } } });
    expect(entry(`/data/${name}`)).toEqual({
      problems: [
        '/audit/event/outcome: has the name of a flag that is true if the action failed. Say so with a map: {"at": pointer, "map": {"false": "SUCCESS", "true": "FAILURE"}}.',
      ],
    });
    const map = { true: 'FAILURE', false: 'SUCCESS' };
    expect(entry({ at: `/data/${name}`, map })).toHaveProperty('contract');
  });

  it.each(['success', 'outcome', 'no_error', 'error_code', 'failure_reason', 'status', 'failover'])(
    'is valid if the outcome is the field %s',
    (name) => {
      const contract = { audit: { event: { outcome: `/${name}` } } };
      expect(checkContract(contract)).toEqual({ contract });
    },
  );

  it.each([
    [{ paging: { follow: 'host' } }, '/audit/paging/follow'],
    [{ paging: { style: 'last-value', parameter: 'before' } }, '/audit/paging/last'],
    [{ paging: { style: 'page', last: '/time' } }, '/audit/paging/last'],
    [{ paging: { inclusive: true } }, '/audit/paging/inclusive'],
    [{ paging: { more: '/meta/isLast' } }, '/audit/paging/more'],
    [{ paging: { more: ['/more', '/done'] } }, '/audit/paging/more'],
    [{ records: '/data/*/logs/*' }, '/audit/records'],
  ])('is rejected if a list has %j', (audit, place) => {
    const checked = checkContract({ audit });
    expect('problems' in checked && checked.problems.length).toBe(1);
    expect(String(Object.values(checked))).toContain(place);
  });

  it('may name its JSON Schema', () => {
    const contract = { $schema: './contract.schema.json' };
    expect(checkContract(contract)).toEqual({ contract });
  });

  it('of a program is checked like that of a file', () => {
    const options = {
      upstream: { url: 'http://127.0.0.1:1' },
      contract: { audit: { event: { outcome: { at: '/a', map: { A: 'OK' } } } } },
    };
    // @ts-expect-error: OK is no outcome
    expect(() => createGateway(options)).toThrow(
      'contract: /audit/event/outcome/map/A must be one of SUCCESS, FAILURE.',
    );
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
