import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { completeAudit } from '../../../src/gateway/inference/complete-contract.ts';
import { readAuditPage } from '../../../src/gateway/mapping/event.ts';

/** Tracks which members of the second record are read. Inferring the list reads the first one. */
function trackReads() {
  const read = new Set<string>();
  const time = '2026-11-21T10:00:00Z';
  const record = { id: 'e1', time, action: 'key.delete', user: { id: 'u1' } };
  const second = new Proxy<Record<string, unknown>>(record, {
    get: (members, name) => {
      read.add(String(name));
      return members[String(name)];
    },
  });
  return { read, response: { status: 200, headers: {}, body: { events: [record, second] } } };
}

const FULL_CONTRACT = {
  records: '/events',
  event: {
    ...{ id: '/id', occurredAt: '/time', action: '/action', outcome: null },
    ...{ ipAddress: null, userAgent: null },
    actor: { identifier: '/user/id', name: null, type: null },
    target: { identifier: null, name: null, type: null },
  },
};

describe('an event', () => {
  it('reads only the requested fields if the contract has every entry', () => {
    const { read, response } = trackReads();
    const trail = readAuditPage(completeAudit(response, { audit: FULL_CONTRACT }), response);
    expect(trail.item(1).action).toBe('key.delete');
    expect([...read]).toEqual(['action']);
    expect(trail.item(1).id).toBe('e1');
    expect([...read]).toEqual(['action', 'id']);
  });

  it('reads its time once, however often its page returns it', () => {
    let reads = 0;
    const record = Object.defineProperty({ id: 'e1' }, 'time', {
      get: () => {
        reads += 1;
        return 'no time';
      },
    });
    const response = { status: 200, headers: {}, body: { events: [{}, record] } };
    const trail = readAuditPage(completeAudit(response, { audit: FULL_CONTRACT }), response);
    const times = [1, 2, 3].map(() => trail.item(1).occurredAt);
    expect([times, reads]).toEqual([[null, null, null], 1]);
  });

  it('examines the whole record when an entry is missing from the contract', () => {
    const { read, response } = trackReads();
    const { action: _, ...event } = FULL_CONTRACT.event;
    const trail = readAuditPage(
      completeAudit(response, { audit: { ...FULL_CONTRACT, event } }),
      response,
    );
    expect(trail.item(1).action).toBe('key.delete');
    expect([...read].toSorted()).toEqual(['action', 'id', 'time', 'user']);
  });
});

describe('the API key of a party', () => {
  /** Reads the target of one record, with an entry `apiKey` of the contract. */
  function readKey(target: unknown, apiKey?: true | readonly string[] | null) {
    const response = { status: 200, headers: {}, body: [{ target }] };
    const party = {
      ...{ identifier: '/target/id', name: '/target/name', type: '/target/type' },
      ...(apiKey !== undefined && { apiKey }),
    };
    const contract = completeAudit(response, { audit: { records: '', event: { target: party } } });
    return readAuditPage(contract, response).item(0).target?.apiKey;
  }
  const KEY = { clientId: '7' };

  it.each([
    ...['api_key', 'apikey', 'apiKey', 'ApiKey', 'APIKey', 'API_KEY', 'API key', 'api-keys'],
    ...['api.key', 'apikeys'],
  ])('is there if the type is %j', (type) => {
    expect(readKey({ id: 7, type })).toEqual(KEY);
  });

  it.each([
    ...['user', 'client', 'key', 'api', 'api_keyring', 'api_key_id', 'old_api_key', 'apiékey'],
    ...['', 'token', 'service_account', 'secret', null, undefined, 7, {}, 'user', 'my api key'],
  ])('is null if the type is %j', (type) => {
    expect(readKey({ id: 7, name: 'api_key', type }) ?? null).toBeNull();
  });

  it('is null without an identifier, whatever the name and the contract say', () => {
    for (const entry of [undefined, true, ['api_key']] as const)
      expect(readKey({ name: 'ci', type: 'api_key' }, entry)).toBeNull();
  });

  it('depends on the contract alone if that has an entry', () => {
    expect(readKey({ id: 7, type: 'user' }, true)).toEqual(KEY);
    expect(readKey({ id: 7 }, true)).toEqual(KEY);
    expect(readKey({ id: 7, type: 'client' }, ['client', 'bot'])).toEqual(KEY);
    expect(readKey({ id: 7, type: 'Client' }, ['client', 'bot'])).toBeNull();
    expect(readKey({ id: 7, type: 'api_key' }, ['client', 'bot'])).toBeNull();
    expect(readKey({ id: 7 }, ['client', 'bot'])).toBeNull();
    expect(readKey({ id: 7, type: 'api_key' }, null)).toBeNull();
  });

  it('never depends on the name, and has the identifier as client ID, for any record', () => {
    const text = fc.oneof(fc.constantFrom('api_key', 'user', '7', '-', ''), fc.string());
    const target = fc.record(
      { id: fc.oneof(text, fc.integer()), name: text, type: text },
      { requiredKeys: [] },
    );
    const entry = fc.constantFrom<true | readonly string[] | null | undefined>(
      undefined,
      null,
      true,
      ['user'],
      ['api_key', 'user'],
    );
    fc.assert(
      fc.property(target, entry, text, (record, apiKey, name) => {
        const key = readKey(record, apiKey) ?? null;
        expect(readKey({ ...record, name }, apiKey) ?? null).toEqual(key);
        if (key !== null) expect(key).toEqual({ clientId: String(record.id) });
      }),
    );
  });
});
