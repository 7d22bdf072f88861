import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AuditDocument } from '../../src/client/index.ts';
import { createSandbox } from '../../src/testing/create-sandbox.ts';
import type { SandboxOptions } from '../../src/testing/sandbox/server.ts';
import {
  createTestbed,
  type SandboxEvent,
  type TestbedOptions,
  type TestbedResponse,
} from '../../src/testing/testbed.ts';

const problem = async (work: () => unknown): Promise<string> => {
  try {
    await work();
    return '';
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    return Object(error).message;
  }
};

/** A name with one letter doubled, left out or swapped with the next one: the typos that people make most. */
const typoOf = (name: string) =>
  fc.tuple(fc.nat(name.length - 2), fc.constantFrom('double', 'omit', 'swap')).map(([at, kind]) => {
    const [head, a = '', b = '', tail] = [
      ...[name.slice(0, at), name[at], name[at + 1], name.slice(at + 2)],
    ];
    const middle = { double: a + a + b, omit: b, swap: b + a }[kind];
    return head + middle + tail;
  });

const RESPONSE = ['status', 'headers', 'body', 'delayMs', 'lost', 'times'] as const;
const TESTBED = ['gateway', 'upstream', 'clients', 'events', 'strictLogin', 'recording'] as const;

describe('a misspelt name', () => {
  it.each([
    [{ event: [] }, 'event is not an option of a testbed. Did you mean events?'],
    [
      { gatway: {}, zzzzzzz: 1 },
      'gatway is not an option of a testbed. Did you mean gateway? zzzzzzz is not an option of a testbed.',
    ],
    [
      { events: [{ action: 'a', userAgnet: 'x' }] },
      'userAgnet is not a member of an event. Did you mean userAgent?',
    ],
  ])('of an option is named with the nearest: %j', async (options, expected) => {
    expect(await problem(() => createTestbed(options as TestbedOptions))).toBe(expected); // JavaScript allows it
  });

  it('of an option of its gateway is named with the nearest', async () => {
    const gateway = { introspecton: true } as object;
    await expect(createTestbed({ gateway })).rejects.toThrow(
      'introspecton is not an option. Did you mean introspection?',
    );
    const upstream = { timoutMs: 1 } as object;
    await expect(createTestbed({ upstream })).rejects.toThrow(
      'upstream.timoutMs is not an option. Did you mean upstream.timeoutMs?',
    );
  });

  it('of an option of a sandbox is named with the nearest', async () => {
    const options = { strictlogin: true } as Partial<SandboxOptions>;
    expect(await problem(() => createSandbox(options))).toBe(
      'strictlogin is not an option of a sandbox. Did you mean strictLogin?',
    );
  });

  it('in a testbed is named with the nearest, and nothing is sent or scripted', async () => {
    await using testbed = await createTestbed();
    const tokn = { tokn: null } as object;
    expect(await problem(() => testbed.request(AuditDocument, {}, tokn))).toBe(
      'tokn is not an option of a request. Did you mean token?',
    );
    expect(await problem(() => testbed.follow({}, { signl: null } as object))).toBe(
      'signl is not an option of follow. Did you mean signal?',
    );
    const event = { action: 'a', actr: 'x' } as SandboxEvent;
    expect(await problem(() => testbed.addEvents([event]))).toBe(
      'actr is not a member of an event. Did you mean actor?',
    );
    const responses: TestbedResponse[] = [
      { status: 403 },
      { statuss: 1, tims: 2 } as TestbedResponse,
    ];
    expect(await problem(() => testbed.respondNext(...responses))).toBe(
      'statuss is not a member of a scripted response. Did you mean status? tims is not a member of a scripted response. Did you mean times?',
    );
    expect(testbed.requests).toEqual([]);
    expect((await testbed.request(AuditDocument, { first: 1 })).errors).toBeUndefined();
  });

  it('in a response of `onRequest` is in the response of the sandbox', async () => {
    const onRequest: SandboxOptions['onRequest'] = () => ({ statsu: 403 }) as object;
    await using sandbox = await createSandbox({ onRequest });
    const response = await fetch(`${sandbox.url}/api/v1/audit`);
    expect(await response.json()).toMatchObject({
      status: 500,
      detail:
        'onRequest returned no valid response. statsu is not a member of a scripted response. Did you mean status?',
    });
  });

  it('with one typo leads to the name that was meant', async () => {
    await using testbed = await createTestbed();
    const of = (names: readonly string[]) =>
      fc.constantFrom(...names).chain((name) => fc.tuple(fc.constant(name), typoOf(name)));
    await fc.assert(
      fc.asyncProperty(of(RESPONSE), of(TESTBED), async ([name, typo], [option, misspelt]) => {
        if (typo !== name)
          expect(await problem(() => testbed.respondNext({ [typo]: 1 }))).toContain(
            `Did you mean ${name}?`,
          );
        if (misspelt !== option)
          expect(await problem(() => createTestbed({ [misspelt]: 1 } as object))).toContain(
            `Did you mean ${option}?`,
          );
      }),
    );
  });
});
