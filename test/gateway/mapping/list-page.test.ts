import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { completeAudit } from '../../../src/gateway/inference/complete-contract.ts';
import { readAuditPage } from '../../../src/gateway/mapping/event.ts';

describe('a page of a list', () => {
  it('releases its records, even if the response is still referenced', () => {
    const body = { events: [{ id: 'e1' }, { id: 'e2' }], total: 2 };
    const response = { status: 200, headers: {}, body };
    const trail = readAuditPage(completeAudit(response), response);
    const event = trail.item(1);
    trail.release();
    expect(body).toEqual({ events: [], total: 2 });
    expect(event.id).toBe('e2'); // an item that was read before remains
    expect(trail.length).toBe(2);
    expect(trail.total()).toBe(2);
  });

  it('retains no record after its release, neither itself nor through its contract', async () => {
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    const read = (isPartial: boolean) => {
      const events = Array.from({ length: 60 }, (_, index) => ({
        id: `e${index}`,
        action: 'login',
      }));
      const response = { status: 200, headers: {}, body: { events, total: 60 }, isPartial };
      const trail = readAuditPage(completeAudit(response), response);
      const kept = events.map((event) => new WeakRef(event));
      expect(trail.item(0).action).toBe('login');
      if (!isPartial) trail.next();
      trail.release();
      return { trail, kept };
    };
    for (const isPartial of [false, true]) {
      const { trail, kept } = read(isPartial);
      // A WeakRef that was created or read in a job keeps its target alive until its end, and V8 the closures of a
      // function that it is compiling.
      const left = async () => {
        await setTimeout(0);
        collect();
        return kept.filter((event) => event.deref() !== undefined);
      };
      await expect.poll(left).toEqual([]);
      expect(trail.length).toBe(60);
    }
  });
});
