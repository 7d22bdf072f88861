import { describe, expect, it } from 'vitest';
import { completeAudit } from '../../src/inference/infer.ts';
import { readTrail } from '../../src/reading/trail.ts';

describe('a trail', () => {
  it('lets go of its records, whoever still holds the answer', () => {
    const body = { events: [{ id: 'e1' }, { id: 'e2' }], total: 2 };
    const answer = { status: 200, headers: {}, body };
    const trail = readTrail(completeAudit(answer), answer);
    const event = trail.event(1);
    trail.forget();
    expect(body).toEqual({ events: [], total: 2 });
    expect(event.id).toBe('e2'); // what was taken out before stays
    expect(trail.length).toBe(2);
    expect(trail.total()).toBe(2);
  });
});
