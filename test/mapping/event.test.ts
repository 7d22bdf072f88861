import { describe, expect, it } from 'vitest';
import { completeAudit } from '../../src/inference/complete-contract.ts';
import { readAuditPage } from '../../src/mapping/audit-page.ts';

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
  event: { id: '/id', occurredAt: '/time', action: '/action', actor: { identifier: '/user/id' } },
};

describe('an event', () => {
  it('reads only the requested fields if the contract is complete', () => {
    const { read, response } = trackReads();
    const trail = readAuditPage(completeAudit(response, FULL_CONTRACT), response);
    expect(trail.item(1).action).toBe('key.delete');
    expect([...read]).toEqual(['action']);
    expect(trail.item(1).id).toBe('e1');
    expect([...read]).toEqual(['action', 'id']);
  });

  it('profiles the whole record when a requested field is missing from the contract', () => {
    const { read, response } = trackReads();
    const { action: _, ...event } = FULL_CONTRACT.event;
    const trail = readAuditPage(completeAudit(response, { ...FULL_CONTRACT, event }), response);
    expect(trail.item(1).id).toBe('e1');
    expect([...read]).toEqual(['id']);
    expect(trail.item(1).action).toBe('key.delete');
    expect([...read]).toEqual(['id', 'time', 'action', 'user']);
  });
});
