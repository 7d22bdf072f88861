import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { completeAudit } from '../../src/inference/index.ts';
import { readTrail } from '../../src/mapping/trail.ts';

describe('a trail', () => {
  it('lets go of its records, whoever still holds the answer', () => {
    const body = { events: [{ id: 'e1' }, { id: 'e2' }], total: 2 };
    const answer = { status: 200, headers: {}, body };
    const trail = readTrail(completeAudit(answer), answer);
    const event = trail.item(1);
    trail.release();
    expect(body).toEqual({ events: [], total: 2 });
    expect(event.id).toBe('e2'); // what was taken out before stays
    expect(trail.length).toBe(2);
    expect(trail.total()).toBe(2);
  });

  it('keeps no record that it has let go of, neither itself nor by its contract', async () => {
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    const read = (isCut: boolean) => {
      const events = Array.from({ length: 60 }, (_, index) => ({
        id: `e${index}`,
        action: 'login',
      }));
      const answer = { status: 200, headers: {}, body: { events, total: 60 }, isCut };
      const trail = readTrail(completeAudit(answer), answer);
      const kept = events.map((event) => new WeakRef(event));
      expect(trail.item(0).action).toBe('login');
      if (!isCut) trail.next();
      trail.release();
      return { trail, kept };
    };
    for (const isCut of [false, true]) {
      const { trail, kept } = read(isCut);
      await setTimeout(0); // a reference that was just made, or looked at, holds until then
      collect();
      expect(kept.filter((event) => event.deref() !== undefined)).toEqual([]);
      expect(trail.length).toBe(60);
    }
  });
});
