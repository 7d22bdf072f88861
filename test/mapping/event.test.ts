import { describe, expect, it } from 'vitest';
import { completeAudit } from '../../src/inference/index.ts';
import { readTrail } from '../../src/mapping/trail.ts';

/** An answer of two records; by the first it is told how much stands around them, and what is read of the second is kept. */
function watched() {
  const read = new Set<string>();
  const time = '2026-11-21T10:00:00Z';
  const record = { id: 'e1', time, action: 'key.delete', user: { id: 'u1' } };
  const second = new Proxy<Record<string, unknown>>(record, {
    get: (members, name) => {
      read.add(String(name));
      return members[String(name)];
    },
  });
  return { read, answer: { status: 200, headers: {}, body: { events: [record, second] } } };
}

const WHOLE = {
  records: '/events',
  event: { id: '/id', occurredAt: '/time', action: '/action', actor: { identifier: '/user/id' } },
};

describe('an event', () => {
  it('is read where it is asked for, and nowhere else, with a contract', () => {
    const { read, answer } = watched();
    const trail = readTrail(completeAudit(answer, WHOLE), answer);
    expect(trail.item(1).action).toBe('key.delete');
    expect([...read]).toEqual(['action']);
    expect(trail.item(1).id).toBe('e1');
    expect([...read]).toEqual(['action', 'id']);
  });

  it('is looked at as a whole where the contract has a gap that is asked for', () => {
    const { read, answer } = watched();
    const { action: _, ...event } = WHOLE.event;
    const trail = readTrail(completeAudit(answer, { ...WHOLE, event }), answer);
    expect(trail.item(1).id).toBe('e1');
    expect([...read]).toEqual(['id']);
    expect(trail.item(1).action).toBe('key.delete');
    expect([...read]).toEqual(['id', 'time', 'action', 'user']);
  });
});
