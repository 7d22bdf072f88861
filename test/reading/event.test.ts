import { describe, expect, it } from 'vitest';
import { completeAudit } from '../../src/inference/infer.ts';
import { readTrail } from '../../src/reading/trail.ts';

/** Records that remember which of their members were read. */
function watched() {
  const read = new Set<string>();
  const record = () =>
    new Proxy<Record<string, unknown>>(
      { id: 'e1', time: '2026-11-21T10:00:00Z', action: 'key.delete', user: { id: 'u1' } },
      {
        get: (members, name) => {
          read.add(String(name));
          return members[String(name)];
        },
      },
    );
  return { read, body: { events: [record(), record()] } };
}

const WHOLE = {
  records: '/events',
  event: { id: '/id', occurredAt: '/time', action: '/action', actor: { id: '/user/id' } },
};

describe('an event', () => {
  it('is read where it is asked for, and nowhere else, with a contract', () => {
    const { read, body } = watched();
    const answer = { status: 200, headers: {}, body };
    const trail = readTrail(completeAudit(answer, WHOLE), answer);
    read.clear(); // whether the answer says that there is more
    expect(trail.event(1).action).toBe('key.delete');
    expect([...read]).toEqual(['action']);
    expect(trail.event(1).id).toBe('e1');
    expect([...read]).toEqual(['action', 'id']);
  });

  it('is looked at as a whole where the contract has a gap that is asked for', () => {
    const { read, body } = watched();
    const answer = { status: 200, headers: {}, body };
    const { action: _, ...event } = WHOLE.event;
    const trail = readTrail(completeAudit(answer, { ...WHOLE, event }), answer);
    read.clear();
    expect(trail.event(1).id).toBe('e1');
    expect([...read]).toEqual(['id']);
    expect(trail.event(1).action).toBe('key.delete');
    expect([...read]).toEqual(['id', 'time', 'action', 'user']);
  });
});
