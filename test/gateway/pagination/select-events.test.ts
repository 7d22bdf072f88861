import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { completeAudit } from '../../../src/gateway/inference/complete-contract.ts';
import { readAuditPage } from '../../../src/gateway/mapping/event.ts';
import { selectEventsOfParty } from '../../../src/gateway/pagination/select-events.ts';

const NAMES = ['k1', 'k2', 'k3', '__proto__', 'constructor', '']; // the empty name is no name
const name = fc.option(fc.constantFrom(...NAMES), { nil: null });
const party = fc.option(fc.record({ id: name, name }), { nil: null });
const record = fc.record({ action: fc.constant('a'), actor: party, target: party });
const query = fc.record({ name: fc.constantFrom(...NAMES), from: fc.nat(12), most: fc.nat(5) });

describe('the events of a key', () => {
  it('are those whose actor or target it is, whichever keys were queried before', () => {
    fc.assert(
      fc.property(fc.array(record), fc.array(query), (body, queries) => {
        const response = { status: 200, headers: {}, body };
        const trail = readAuditPage(completeAudit(response), response);
        for (const { name, from, most } of queries) {
          const naming = body.flatMap((_, index) => {
            const { actor, target } = trail.item(index);
            const names = [actor?.identifier, actor?.name, target?.identifier, target?.name];
            return index >= from && names.includes(name) ? [index] : [];
          });
          expect(selectEventsOfParty(name)(trail, from, trail.length, most)).toEqual(
            naming.slice(0, most),
          );
        }
      }),
    );
  });
});
