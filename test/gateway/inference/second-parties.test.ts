import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AuditDocument } from '../../../src/client/operations.generated.ts';
import { ask, gatewayOver } from '../../helpers/gateway.ts';
import { startService } from '../../helpers/service.ts';

type Members = Readonly<Record<string, unknown>>;

async function read(records: readonly Members[]) {
  await using service = await startService({ body: { events: records } });
  await using gateway = gatewayOver(service.url);
  const { data } = await ask(gateway, AuditDocument, { first: 10 }, { token: 't' });
  return data?.audit?.nodes ?? [];
}

const snake = (name: string) => name.replace(/[A-Z]/g, (one) => `_${one.toLowerCase()}`);
const time = (index: number, minute = 0) => `2026-03-0${index + 1}T08:0${minute}:00Z`;

const style = fc.constantFrom((name: string) => name, snake);

/** Who did it, in forms that services use. */
const doer = fc.constantFrom<(index: number) => Members>(
  (index) => ({ actor: { id: `doer-${index}`, name: `Doer ${index}` } }),
  (index) => ({ user: { id: `doer-${index}`, email: `doer${index}@example.com` } }),
  (index) => ({ userId: `doer-${index}`, userName: `doer${index}` }),
  (index) => ({ changedBy: `doer-${index}` }),
  (index) => ({ createdBy: `doer${index}@example.com` }),
  (index) => ({ performed_by: `Doer ${index}` }),
  (index) => ({ operator: `doer${index}` }),
  (index) => ({ modifiedBy: { id: `doer-${index}`, name: `Doer ${index}` } }),
);

/** Who takes part in it. */
const second = fc
  .tuple(
    fc.constantFrom('approv', 'review', 'request', 'assign', 'notif'),
    fc.constantFrom('by', 'noun', 'id', 'name', 'object', 'list', 'time'),
  )
  .map(([stem, form]) => {
    const [noun, by] = {
      approv: ['approver', 'approvedBy'],
      review: ['reviewer', 'reviewedBy'],
      request: ['requester', 'requestedBy'],
      assign: ['assignee', 'assignedTo'],
      notif: ['notifiedUser', 'notifiedBy'],
    }[stem] as [string, string]; // one per stem
    return (index: number): Members => {
      const text = `second-${index}`;
      switch (form) {
        case 'by':
          return { [by]: text };
        case 'noun':
          return { [noun]: `second${index}@example.com` };
        case 'id':
          return { [`${noun}Id`]: 7000 + index };
        case 'name':
          return { [`${noun}Name`]: `Second ${index}` };
        case 'object':
          return {
            [noun]: { id: text, name: `Second ${index}`, ip: '198.51.100.7', type: 'second' },
          };
        case 'time':
          return { [by]: text, [`${by.replace(/(?:By|To)$/, '')}At`]: time(index, 9) };
        default:
          return { [`${noun}s`]: [text, `second${index}@example.com`] };
      }
    };
  });

describe('somebody who takes part in what another one did', () => {
  it('is neither the actor nor the target: an approver, a reviewer, a requester, an assignee, somebody notified', async () => {
    await fc.assert(
      fc.asyncProperty(
        style,
        doer,
        fc.array(second, { minLength: 1, maxLength: 3 }),
        fc.boolean(),
        async (toName, toDoer, seconds, isFirst) => {
          const records = [0, 1, 2].map((index) => {
            const parts = seconds.map((one) => one(index));
            const members = Object.assign(
              {},
              ...(isFirst ? [...parts, toDoer(index)] : [toDoer(index), ...parts]),
            );
            const named = Object.entries(members).map(([name, value]) => [toName(name), value]);
            return {
              ...{ id: `e-${index}`, timestamp: time(index), action: 'role.update' },
              ...Object.fromEntries(named),
            };
          });
          for (const [index, node] of (await read(records)).entries()) {
            const { actor, target, ipAddress, occurredAt } = node;
            expect(
              JSON.stringify([actor, target, ipAddress]),
              JSON.stringify(records[0]),
            ).not.toMatch(/second|700\d|198\.51\.100\.7/i);
            expect(occurredAt).toBe(`${time(index).slice(0, -1)}.000Z`);
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  it('is not the time of a change that has its own', async () => {
    const [node] = await read(
      [0, 1].map((index) => ({
        ...{ changeId: `c-${index}`, changeTimestamp: time(index), changeType: 'UPDATE' },
        ...{ changedBy: `doer${index}`, approvedBy: `second${index}`, approvedAt: time(index, 5) },
      })),
    );
    expect(node).toMatchObject({ occurredAt: '2026-03-01T08:00:00.000Z', action: 'UPDATE' });
    expect(JSON.stringify(node)).toContain('doer0');
    expect(JSON.stringify(node?.actor)).not.toContain('second');
  });
});

describe('what looks like a part of an event', () => {
  const base = (index: number) => ({
    ...{ id: `e-${index}`, timestamp: time(index), action: 'sim.activate', user: `ann${index}` },
  });

  it('is not the address of the actor if it is that of a thing', async () => {
    const thing = fc.constantFrom(
      'endpoint',
      'sim',
      'printer',
      'camera',
      'vm',
      'instance',
      'sensor',
      'modem',
    );
    const name = fc.constantFrom('ip', 'ip_address', 'ipAddress', 'address');
    await fc.assert(
      fc.asyncProperty(thing, name, fc.boolean(), async (owner, key, isNested) => {
        const nodes = await read(
          [0, 1].map((index) => ({
            ...base(index),
            ...(isNested
              ? { [owner]: { id: 7, [key]: '203.0.113.9' } }
              : { [`${owner}_${snake(key)}`]: '203.0.113.9' }),
          })),
        );
        expect(nodes.map(({ ipAddress }) => ipAddress)).toEqual([null, null]);
      }),
      { numRuns: 60 },
    );
  });

  it('is no name if it is a number', async () => {
    const key = fc.constantFrom('actor', 'user', 'target', 'resource', 'author');
    await fc.assert(
      fc.asyncProperty(key, fc.integer({ min: 1, max: 9999 }), async (name, number) => {
        const nodes = await read(
          [0, 1].map((index) => {
            const { user: _, ...others } = base(index);
            return { ...others, [name]: { name: number + index, id: `x${index}` } };
          }),
        );
        for (const { actor, target } of nodes)
          expect(
            [actor?.name, target?.name].filter(
              (one) => typeof one === 'string' && /^\d+$/.test(one),
            ),
          ).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });

  it('is no action if it is the kind of a thing, and no type if it is a verb', async () => {
    const [node] = await read(
      [0, 1].map((index) => ({
        ...{ id: `e-${index}`, timestamp: time(index), user: `ann${index}` },
        ...{
          documentType: index ? 'invoice' : 'letter',
          resourceOperation: index ? 'CREATED' : 'DELETED',
        },
        resourceId: `r-${index}`,
      })),
    );
    expect(node?.action).not.toBe('letter');
    expect(node?.target?.type ?? null).not.toBe('DELETED');
  });
});
