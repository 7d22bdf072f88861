import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createContractJsonSchema } from '../../src/gateway/config/contract-json-schema.ts';
import { checkContract, parseContract } from '../../src/gateway/config/contract-schema.ts';
import type { ConfiguredContract } from '../../src/gateway/mapping/contract.ts';
import { learnContract } from '../../src/terminal/learn/learn-contract.ts';
import { formatReport } from '../../src/terminal/learn/report.ts';
import { ask, gatewayOver, onPort } from '../helpers/gateway.ts';
import { keytrailInProcess } from '../helpers/process.ts';
import { createFolder, runFor } from '../helpers/recording.ts';
import { startService } from '../helpers/service.ts';
import { subscribe } from '../helpers/subscribe.ts';

type Event = NonNullable<NonNullable<ConfiguredContract['audit']>['event']>;
type Node = Readonly<Record<string, unknown>>;
type Data = { readonly audit: { readonly nodes: readonly Node[] } | null };

const TIME = '2026-11-20T10:00:00Z';
const PARTY = '{ identifier name type apiKey { clientId } }';
const READ = (filter = '') =>
  `{ audit(first: 100${filter && `, filter: {${filter}}`}) { nodes { occurredAt action outcome ipAddress userAgent actor ${PARTY} target ${PARTY} } } }`;
const KEY = (clientId: string) =>
  `{ _entities(representations: [{__typename: "ApiKey", clientId: "${clientId}"}]) { ... on ApiKey { audit { nodes { action } } } } }`;

/** Reads records through a gateway with some entries of `audit.event`. */
async function read(records: readonly unknown[], event: Event, query = READ()) {
  await using service = await startService({ body: { items: records } });
  const metrics: string[] = [];
  await using gateway = gatewayOver(service.url, {
    contract: { audit: { records: '/items', event } },
    observer: { onDrift: (entries) => void metrics.push(...entries) },
  });
  const { data, errors } = await ask<Data, undefined>(gateway, query, undefined, { token: 't' });
  const drift = gateway.logged
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg.startsWith('contract entries'));
  const of = (text: string) =>
    drift
      .filter(({ msg }) => msg.includes(text))
      .flatMap(({ responses }) => Object.keys(responses));
  return {
    nodes: data?.audit?.nodes ?? null,
    data,
    reason: errors?.[0]?.extensions.reason,
    message: errors?.[0]?.message ?? '',
    nothing: of('matched nothing'),
    unread: of('none of which is understood'),
    metrics,
    sent: service.seen.map(({ url }) => url),
  };
}

let folder: Awaited<ReturnType<typeof createFolder>>;
beforeAll(async () => {
  folder = await createFolder();
});
afterAll(() => folder[Symbol.asyncDispose]());

/** Runs `learn` on a saved response. */
async function learn(body: unknown, ...args: readonly string[]) {
  const file = await folder.write('response.json', body);
  await using command = keytrailInProcess(['learn', '--from', file, ...args]);
  const status = await command.status;
  return { status, ...command.output, report: command.output.stderr.replaceAll(/\s+/g, ' ') };
}

const both = (record: object) => [record, record];

/** Entries that lead to values, none of which is understood, with a filter that needs them. */
const UNREAD: readonly (readonly [
  fact: string,
  records: readonly unknown[],
  event: Event,
  filter: string,
  entries: readonly string[],
])[] = [
  [
    'a map of an outcome that fits no value',
    [{ status: 'OK' }, { status: 'KO' }],
    { outcome: { at: '/status', map: { A: 'SUCCESS', D: 'FAILURE' } } },
    'outcome: FAILURE',
    ['outcome'],
  ],
  [
    'a map whose keys have another case',
    both({ status: 'denied' }),
    { outcome: { at: '/status', map: { DENIED: 'FAILURE' } } },
    'outcome: FAILURE',
    ['outcome'],
  ],
  [
    'a map of numbers that became texts',
    both({ op: 'delete' }),
    { action: { at: '/op', map: { 1: 'key.create', 2: 'key.delete' } } },
    'actions: ["key.delete"]',
    ['action'],
  ],
  [
    'a map of a flag that became another',
    both({ failed: false }),
    { outcome: { at: '/failed', map: { Y: 'FAILURE', N: 'SUCCESS' } } },
    'outcome: SUCCESS',
    ['outcome'],
  ],
  [
    'an outcome in letters without a map',
    both({ status: 'A' }),
    { outcome: '/status' },
    'outcome: SUCCESS',
    ['outcome'],
  ],
  [
    'a time in another format',
    both({ when: '2026-11-20 10:00' }),
    { occurredAt: { at: '/when', as: 'epoch-seconds' } },
    'since: "2026-01-01T00:00:00Z"',
    ['occurredAt'],
  ],
  [
    'a pattern that no value has, beside a null',
    [{ when: null }, { when: '20.11.2026' }],
    { occurredAt: { at: '/when', as: { pattern: 'yyyyMMddHHmm' }, zone: 'UTC' } },
    'until: "2027-01-01T00:00:00Z"',
    ['occurredAt'],
  ],
  [
    'a time of which the zone is unknown',
    both({ when: '2026-11-20 10:00:00' }),
    { occurredAt: '/when' },
    'since: "2026-01-01T00:00:00Z"',
    ['occurredAt'],
  ],
  [
    'a text that became an object',
    both({ op: { name: 'key.delete' } }),
    { action: '/op' },
    'actions: ["key.delete"]',
    ['action'],
  ],
  [
    'a text that became a list',
    both({ op: ['key.delete'] }),
    { action: '/op' },
    'actions: ["key.delete"]',
    ['action'],
  ],
  [
    'an object that became a text',
    both({ who: 'ann' }),
    { actor: { identifier: '/who/id', name: null } },
    'actor: "ann"',
    ['actor.identifier'],
  ],
  [
    'an object that became a list',
    both({ who: [{ id: 'ann' }] }),
    { actor: { identifier: '/who/id', name: null } },
    'actor: "ann"',
    ['actor.identifier'],
  ],
  [
    'an identifier that became an object, beside a name',
    both({ on: { id: { value: 7 }, name: 'k' } }),
    { target: { identifier: '/on/id', name: '/on/name' } },
    'target: "7"',
    ['target.identifier'],
  ],
  [
    'a split text that lost its separator',
    both({ who: 'ann' }),
    {
      actor: { identifier: { at: '/who', split: ':', part: 1 }, name: null },
    },
    'actor: "bob"',
    ['actor.identifier'],
  ],
];

describe('C1: a configured entry that leads to values, none of which is understood', () => {
  it.each(UNREAD)('%s is drift, and FIELD_UNREAD for a filter', async (...row) => {
    const [, records, event, filter, entries] = row;
    const names = entries.map((name) => `audit.event.${name}`);
    const { nodes, nothing, unread, metrics, sent } = await read(records, event);
    expect(nodes).toHaveLength(records.length);
    expect({ nothing, unread, metrics }).toEqual({ nothing: [], unread: names, metrics: names });
    const filtered = await read(records, event, READ(filter));
    expect(filtered).toMatchObject({ nodes: null, reason: 'FIELD_UNREAD', sent });
    for (const name of names) expect(filtered.message).toContain(`\`${name}\``);
  });

  it.each([
    ['type', { type: { at: '/kind', map: { 1: 'user' } } }, 'audit.event.actor.type'],
    ['name', { name: '/kinds' }, 'audit.event.actor.name'],
  ] as const)('is drift for a %s, which no filter needs', async (_, actor, entry) => {
    const record = { who: 'ann', kind: 'U', kinds: { a: 1 } };
    const { unread } = await read(both(record), { actor: { identifier: '/who', ...actor } });
    expect(unread).toEqual([entry]);
  });

  it.each([
    ['ipAddress', { ip: { v4: '192.0.2.1' } }, { ipAddress: '/ip' }],
    ['userAgent', { ua: ['curl'] }, { userAgent: '/ua' }],
    ['id', { key: { id: 1 } }, { id: '/key' }],
  ] as const)('is drift for %s', async (name, record, event) => {
    expect((await read(both(record), event)).unread).toEqual([`audit.event.${name}`]);
  });

  it('is drift for a total', async () => {
    await using service = await startService({ body: { items: [{ id: 1 }], count: 'many' } });
    await using gateway = gatewayOver(service.url, { contract: { audit: { total: '/count' } } });
    await ask(gateway, READ(), undefined, { token: 't' });
    expect(gateway.logged.join()).toContain('{"audit.total":1}');
  });

  it.each([
    ['of which one is understood', [{ s: 'x' }, { s: 'A' }, { s: 'y' }]],
    ['that are null', [{ s: null }, { s: null }]],
    ['that are empty, as services write null', [{ s: '' }, { s: '-' }, { s: [] }, { s: {} }]],
  ] as const)('is not an entry with values %s', async (_, records) => {
    const event = { outcome: { at: '/s', map: { A: 'SUCCESS' } } } as const;
    const plain = await read(records, event);
    expect([plain.nothing, plain.unread]).toEqual([[], []]);
    const filtered = await read(records, event, READ('outcome: FAILURE'));
    expect([filtered.reason, filtered.nodes]).toEqual([undefined, []]);
  });

  it('is not an entry of an object that is null or empty in every record', async () => {
    const records = [{ on: null }, { on: [] }, { on: false }, { on: '' }];
    const event = { target: { identifier: '/on/id', name: null } };
    const { nothing, unread } = await read(records, event);
    expect([nothing, unread]).toEqual([[], []]);
    expect(await read(records, event, READ('target: "k"'))).toMatchObject({ nodes: [] });
  });

  it('an absent target is null in any record; a time, an action and an actor are in one', async () => {
    const record = { id: 1 };
    const { nothing, unread } = await read([record], { target: { name: '/on' }, action: '/op' });
    expect([nothing.toSorted(), unread]).toEqual([
      ['audit.event.action', 'audit.event.target.name'],
      [],
    ]);
    const target = { target: { name: '/on' } };
    expect(await read([record], target, READ('target: "k"'))).toMatchObject({ nodes: [] });
    for (const [event, filter] of [
      [{ action: '/op' }, 'actions: ["a"]'],
      [{ actor: { name: '/who' } }, 'actor: "ann"'],
      [{ occurredAt: '/at' }, 'since: "2026-01-01T00:00:00Z"'],
    ] as const)
      expect(await read([record], event, READ(filter))).toMatchObject({ reason: 'FIELD_UNREAD' });
  });

  it.each([
    ['the actor', { actor: { identifier: '/who', name: null } }, 'audit.event.actor.identifier'],
    [
      'the target, although the actor is read',
      { actor: { identifier: '/id' }, target: { identifier: '/who' } },
      'audit.event.target.identifier',
    ],
  ] as const)('fails the events of a key if it is %s', async (_, event, entry) => {
    const records = both({ id: 'x', who: { client: 'ci-bot' } });
    const { reason, message } = await read(records, event, KEY('ci-bot'));
    expect(reason).toBe('FIELD_UNREAD');
    expect(message).toContain(`\`${entry}\``);
  });

  it('ends a stream that filters by it', async () => {
    await using service = await startService({ body: both({ at: TIME, s: 'OK' }) });
    await using gateway = gatewayOver(service.url, {
      contract: { audit: { event: { outcome: { at: '/s', map: { A: 'SUCCESS' } } } } },
    });
    await using port = await onPort(gateway);
    const filter = { outcome: 'FAILURE' };
    await using stream = await subscribe(
      { fetch },
      { filter },
      { url: `http://127.0.0.1:${port.port}/graphql` },
    );
    const [payload] = await stream.rest();
    expect(payload?.errors?.[0]?.extensions.reason).toBe('FIELD_UNREAD');
  });

  it.each([
    [{ expires: { at: '/until', as: 'epoch-seconds' } }, 'login.expires', 'unread'],
    [{ expires: { at: '/until', as: 'seconds' } }, 'login.expires', 'unread'],
    [{ expires: { at: '/token', as: 'jwt' } }, 'login.expires', 'unread'],
    [{ expires: { at: '/ttl', as: 'seconds' } }, 'login.expires', 'nothing'],
    [{ refreshToken: '/renewal' }, 'login.refreshToken', 'unread'],
    [{ tokenType: '/renewal' }, 'login.tokenType', 'unread'],
    [{ refreshToken: '/none', tokenType: '/never' }, null, null],
    [{ expires: { at: '/never', as: 'seconds' } }, null, null],
    [{ expires: { at: '/zero', as: 'iso8601' } }, null, null],
    [{ expires: { at: '/minus', as: 'seconds' } }, null, null],
  ] as const)('is drift in a login that succeeds: %j', async (login, entry, kind) => {
    const body = { token: 'CANARY', until: 'in an hour', renewal: { token: 'CANARY' } };
    await using service = await startService({
      body: { ...body, never: null, zero: '0001-01-01T00:00:00Z', minus: -1 },
    });
    await using gateway = gatewayOver(service.url, { contract: { login } });
    const { data } = await ask(
      gateway,
      'mutation { login(clientId: "c", credential: {clientSecret: "s"}) { accessToken } }',
    );
    expect(data).toEqual({ login: { accessToken: 'CANARY' } });
    const lines = gateway.logged.filter((line) => line.includes('contract entries'));
    expect(lines.map((line) => JSON.parse(line).responses)).toEqual(entry ? [{ [entry]: 1 }] : []);
    expect(lines.join()).toContain(
      kind === 'unread' ? 'none of which is understood' : kind ? 'matched nothing' : '',
    );
    expect(lines.join()).not.toContain('CANARY');
  });
});

const SPLIT = (split: string, at = '/performed_by'): Event => ({
  actor: {
    identifier: { at, split, part: 2 },
    type: { at, split, part: 1 },
    name: null,
  },
});

describe('C2: two facts in one text', () => {
  it.each([
    ['apikey:ci-bot', ':', 'apikey', 'ci-bot'],
    ['apikey:team:ci-bot', ':', 'apikey', 'team:ci-bot'],
    ['user|ann', '|', 'user', 'ann'],
    ['User::ann', '::', 'User', 'ann'],
    ['serviceAccount/projects/7', '/', 'serviceAccount', 'projects/7'],
    ['ann (user)', ' (', 'ann', 'user)'],
    ['Jürgen → 7', ' → ', 'Jürgen', '7'],
    ['.*[a]', '.*', null, '[a]'],
    ['ann', ':', null, 'ann'],
    ['user:', ':', 'user', null],
    [':ann', ':', null, 'ann'],
    ['user:-', ':', 'user', null],
    [12.5, '.', '12', '5'],
  ])('%j with the separator %j is %j and %j', async (text, split, type, identifier) => {
    const { nodes } = await read([{ performed_by: text, op: 'x' }], SPLIT(split));
    expect(nodes?.[0]?.['actor']).toMatchObject({ type, identifier });
  });

  it.each([':', '|', '--', 'é', '\\'])(
    'with the separator %j: joined parts are read as they were, and no text throws',
    async (split) => {
      const piece = fc.string({ minLength: 1 }).filter((text) => /^[^\s-][\s\S]{4}/.test(text));
      const pairs = fc.tuple(
        piece.filter((text) => !`${text}${split}`.slice(0, -1).includes(split)),
        piece,
      );
      await fc.assert(
        fc.asyncProperty(fc.array(pairs, { minLength: 1, maxLength: 20 }), async (all) => {
          const records = all.map((pair) => ({ performed_by: pair.join(split) }));
          const { nodes } = await read(records, SPLIT(split));
          const actors = nodes?.map(({ actor }) => Object(actor));
          expect(actors?.map(({ type, identifier }) => [type, identifier])).toEqual(all);
        }),
        { numRuns: 15 },
      );
    },
  );

  const RECORDS = [
    { performed_by: 'apikey:ci-bot', op: 'deploy' },
    { performed_by: 'user:ann', op: 'login' },
  ];

  it('filters by the identifier, for keys too', async () => {
    const event = { ...SPLIT(':'), action: '/op' };
    const filtered = await read(RECORDS, event, READ('actor: "ci-bot"'));
    expect(filtered.nodes).toMatchObject([
      { action: 'deploy', actor: { apiKey: { clientId: 'ci-bot' } } },
    ]);
    const key = await read(RECORDS, event, KEY('ci-bot'));
    expect(key.data).toEqual({ _entities: [{ audit: { nodes: [{ action: 'deploy' }] } }] });
    expect(await read(RECORDS, event, READ('actor: "nobody"'))).toMatchObject({ nodes: [] });
  });

  it('with a map, for types, actions and outcomes', async () => {
    const at = '/performed_by';
    const { nodes } = await read(RECORDS, {
      actor: { type: { at, split: ':', part: 1, map: { apikey: 'API key' }, else: 'keep' } },
      outcome: { at: '/op', split: 'o', part: 1, map: { l: 'SUCCESS', depl: 'FAILURE' } },
      action: { at: '/op', split: 'lo', part: 2 },
    });
    expect(nodes).toMatchObject([
      { actor: { type: 'API key' }, outcome: 'FAILURE', action: 'y' },
      { actor: { type: 'user' }, outcome: 'SUCCESS', action: 'gin' },
    ]);
  });

  it('once more in part 2 is no reason to fail', async () => {
    const records = both({ performed_by: 'apikey:team:ci-bot' });
    expect(await read(records, SPLIT(':'), READ('actor: "nobody"'))).toMatchObject({ nodes: [] });
  });

  it('is drift of part 1 if no value has the separator', async () => {
    const { unread } = await read(both({ performed_by: 'apikey/ci-bot' }), SPLIT(':'));
    expect(unread).toEqual(['audit.event.actor.type']);
  });

  it.each([
    ['inferred', RECORDS, {}, 'actor: "ci-bot"', 'actor'],
    ['inferred', RECORDS, {}, 'actor: "nobody"', 'actor'],
    ['configured', RECORDS, { actor: { name: '/performed_by' } }, 'actor: "nobody"', 'actor'],
    [
      'half of them',
      [...RECORDS, { performed_by: 'bob' }, { performed_by: 'eve' }],
      { actor: { identifier: '/performed_by' } },
      'actor: "nobody"',
      'actor',
    ],
    [
      'one of many, which has it',
      [...RECORDS, ...Array(9).fill({ performed_by: 'bob' })],
      { actor: { identifier: '/performed_by' } },
      'actor: "ann"',
      'actor',
    ],
    ['a target', both({ on: 'key:k1' }), { target: { name: '/on' } }, 'target: "k1"', 'target'],
    [
      'another separator, with what is wanted after it',
      both({ on: 'key|k1' }),
      { target: { name: '/on' } },
      'target: "k1"',
      'target',
    ],
    [
      'a separator that is no more that of the contract',
      both({ performed_by: 'apikey|ci-bot' }),
      SPLIT(':'),
      'actor: "ci-bot"',
      'actor',
    ],
  ] as const)(
    'without split, %s: a filter that matches nothing is FIELD_UNREAD',
    async (...row) => {
      const [, records, event, filter, role] = row;
      const { reason, message, nodes } = await read(records, event, READ(filter));
      expect([nodes, reason]).toEqual([null, 'FIELD_UNREAD']);
      expect(message).toContain(`\`split\` in \`audit.event.${role}.identifier\``);
      for (const text of ['ci-bot', 'ann', 'k1', 'nobody']) expect(message).not.toContain(text);
    },
  );

  it('without split, the events of a key are FIELD_UNREAD', async () => {
    expect(await read(RECORDS, {}, KEY('ci-bot'))).toMatchObject({ reason: 'FIELD_UNREAD' });
    const whole = await read(RECORDS, { action: '/op' }, KEY('apikey:ci-bot'));
    expect(whole.data).toEqual({ _entities: [{ audit: { nodes: [{ action: 'deploy' }] } }] });
  });

  it.each([
    ['a whole text', RECORDS, 'actor: "apikey:other"'],
    ['times', both({ who: '10:42:11' }), 'actor: "ann"'],
    ['URLs', both({ who: 'https://id.example.com/ann' }), 'actor: "ann"'],
    ['IPv6 addresses', both({ who: 'fe80::1:2' }), 'actor: "ann"'],
    ['IPv6 addresses of letters', both({ who: 'dead:beef::c0de' }), 'actor: "ann"'],
    ['MAC addresses', both({ who: 'aa:bb:cc:dd:ee:ff' }), 'actor: "ann"'],
    ['ARNs', both({ who: 'arn:aws:iam::123456789012:user/ann' }), 'actor: "bob"'],
    ['URNs', both({ who: 'urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66' }), 'actor: "ann"'],
    ['paths', both({ who: 'C:\\Users\\ann' }), 'actor: "ann"'],
    ['e-mail addresses', both({ who: 'ann@example.com' }), 'actor: "ann"'],
    ['sentences', both({ who: 'Admin: Ann' }), 'actor: "bob"'],
    ['less than half', [RECORDS[0], ...both({ performed_by: 'ann' })], 'actor: "bob"'],
  ])('an empty page is right for %s', async (_, records, filter) => {
    const event = { actor: { identifier: ['/who', '/performed_by'] } };
    expect(await read(records, event, READ(filter))).toMatchObject({
      nodes: [],
      reason: undefined,
    });
  });

  it('an empty page is right if each actor has a name as well', async () => {
    const records = both({ who: 'user:1', name: 'Ann' });
    const event = { actor: { identifier: '/who', name: '/name' } };
    expect(await read(records, event, READ('actor: "Bob"'))).toMatchObject({ nodes: [] });
  });

  it('reads long texts of the service in linear time', async () => {
    const texts = [':', 'a:', 'a', 'é_', '::f', '%', 'ff:'].map(
      (piece) => `${piece.repeat(20_000)}!`,
    );
    const records = texts.map((who) => ({ who, on: `ab${who}` }));
    const event = { actor: { identifier: '/who' }, target: { identifier: '/on' } };
    expect(await read(records, event, READ('actor: "x"'))).toMatchObject({ nodes: [] });
    const { reason } = await read(records, event, READ('target: "x"'));
    expect(reason).toBe('FIELD_UNREAD');
  });

  it('reads the trail once for many keys, of which none is in it', async () => {
    const keys = Array.from({ length: 100 }, (_, id) => ({
      __typename: 'ApiKey',
      clientId: `k${id}`,
    }));
    const records = Array.from({ length: 2000 }, (_, id) => ({
      actor: { id: `user${id}` },
      target: { id: `thing${id}` },
    }));
    await using service = await startService({ body: records });
    await using gateway = gatewayOver(service.url);
    const query = `query ($keys: [_Any!]!) { _entities(representations: $keys) { ... on ApiKey { audit(first: 1) { nodes { action } } } } }`;
    const { data } = await ask<{ readonly _entities: readonly unknown[] }, object>(
      gateway,
      query,
      { keys },
      { token: 't' },
    );
    expect(new Set(data?._entities.map((one) => JSON.stringify(one)))).toEqual(
      new Set(['{"audit":{"nodes":[]}}']),
    );
    expect(service.seen).toHaveLength(1);
  });

  it.each([
    [{ at: '/a', split: ':' }, '/identifier/part must be one of 1, 2'],
    [{ at: '/a', part: 1 }, '/identifier/split: must be a text'],
    [{ at: '/a', split: '', part: 1 }, '/identifier/split: must be a text'],
    [{ at: '/a', split: ':', part: 3 }, '/identifier/part must be one of 1, 2'],
    [{ at: '/a', split: /:/, part: 1 }, '/identifier/split: must be a text'],
  ])('%j is refused', (identifier, problem) => {
    const checked = checkContract({ audit: { event: { actor: { identifier } } } });
    expect(String('problems' in checked && checked.problems)).toContain(problem);
  });

  it.each([
    [{ at: '/a', split: ':' }, '/type/part: must be set, because split is'],
    [{ at: '/a', part: 2 }, '/type/split: must be set, because part is'],
    [{ at: '/a', split: ':', part: 2, else: 'keep' }, '/type/map: must be set, because else is'],
    [{ at: '/a' }, '/type/map: must be set, such as {"D": "key.delete"}; or split and part'],
  ])('%j is refused for a type', (type, problem) => {
    const checked = checkContract({ audit: { event: { actor: { type } } } });
    expect(checked).toEqual({ problems: [expect.stringContaining(problem)] });
  });

  it('is explained, and in the JSON Schema', async () => {
    await using service = await startService({ body: RECORDS });
    await using gateway = gatewayOver(service.url, { contract: { audit: { event: SPLIT(':') } } });
    const headers = { 'x-keytrail-explain': '1' };
    const { text } = await ask(gateway, READ(), undefined, { token: 't', headers });
    expect(JSON.parse(text).extensions.explain.mapping.event.actor).toMatchObject({
      identifier: { at: '/performed_by', split: ':', part: 2, by: 'contract', found: '2 of 2' },
      type: { at: '/performed_by', split: ':', part: 1, by: 'contract', found: '2 of 2' },
    });
    expect(JSON.stringify(createContractJsonSchema())).toContain('Separates two facts');
  });

  it('is kept by learn', async () => {
    const contract = { audit: { event: SPLIT(':') } };
    const file = await folder.write('split.json', contract);
    const { stdout } = await learn(
      RECORDS.map((one) => ({ ...one, time: TIME })),
      '--contract',
      file,
    );
    expect(JSON.parse(stdout).audit.event.actor).toMatchObject(contract.audit.event.actor ?? {});
  });
});

describe('C3: a map with "else": "keep"', () => {
  it.each([
    [
      ['D', 'C', 7, true, null, ''],
      ['delete', 'C', '7', 'true', null, null],
    ],
    [
      ['toString', '__proto__', 'constructor'],
      ['toString', '__proto__', 'constructor'],
    ],
    [
      [{ a: 1 }, ['D']],
      [null, null],
    ],
  ])('reads %j as %j', async (values, actions) => {
    const event = { action: { at: '/op', map: { D: 'delete' }, else: 'keep' } } as const;
    const { nodes } = await read(
      values.map((op) => ({ op })),
      event,
    );
    expect(nodes?.map(({ action }) => action)).toEqual(actions);
  });

  it('is for types as well, and filters by a kept value', async () => {
    const event = {
      action: { at: '/op', map: { D: 'delete' }, else: 'keep' },
      actor: { identifier: '/who', type: { at: '/kind', map: { K: 'api_key' }, else: 'keep' } },
    } as const;
    const records = [
      { op: 'C', who: 1, kind: 'user' },
      { op: 'D', who: 2, kind: 'K' },
    ];
    const { nodes } = await read(records, event, READ('actions: ["C"]'));
    expect(nodes).toMatchObject([{ action: 'C', actor: { type: 'user', apiKey: null } }]);
  });

  it.each([
    [
      { outcome: { at: '/a', map: { A: 'SUCCESS' }, else: 'keep' } },
      '/outcome/else: is only for texts',
    ],
    [{ action: { at: '/a', map: { A: 'b' }, else: 'drop' } }, '/action/else must be one of keep'],
    [{ action: { at: '/a', else: 'keep' } }, '/action/map: must be set'],
  ])('%j is refused', (event, problem) => {
    expect(checkContract({ audit: { event } })).toEqual({
      problems: [expect.stringContaining(problem)],
    });
  });
});

describe('C4: a flag in letters or digits', () => {
  it.each([
    ['is_failed', ['N', 'N'], { N: 'SUCCESS', Y: 'FAILURE' }],
    ['isFailed', ['Y', 'N'], { N: 'SUCCESS', Y: 'FAILURE' }],
    ['failed', [0, 1], { 0: 'SUCCESS', 1: 'FAILURE' }],
    ['has_error', ['0', '0'], { 0: 'SUCCESS', 1: 'FAILURE' }],
    ['DENIED', ['T', 'F'], { F: 'SUCCESS', T: 'FAILURE' }],
    ['error', ['no', 'no'], { no: 'SUCCESS', yes: 'FAILURE' }],
    ['blocked', ['No', 'Yes'], { No: 'SUCCESS', Yes: 'FAILURE' }],
    ['failure_flag', ['off', 'on'], { off: 'SUCCESS', on: 'FAILURE' }],
    ['was_rejected', ['False', 'True'], { False: 'SUCCESS', True: 'FAILURE' }],
    ['is_failed', ['y', 'N'], { n: 'SUCCESS', y: 'FAILURE', N: 'SUCCESS' }],
    ['is_failed', [false, true], { false: 'SUCCESS', true: 'FAILURE' }],
    ['success', ['Y', 'N'], { N: 'FAILURE', Y: 'SUCCESS' }],
    ['is_success', [1, 0], { 0: 'FAILURE', 1: 'SUCCESS' }],
    ['allowed', ['n', 'y'], { n: 'FAILURE', y: 'SUCCESS' }],
  ])('%s with %j: learn suggests the map, and the gateway reads it', async (name, values, map) => {
    const records = values.map((value, id) => ({ id, time: TIME, action: 'login', [name]: value }));
    const { stderr } = await learn(records);
    const [, line = '{}'] =
      /^ {4}(\{"audit": \{"event": \{"outcome".*?\}\}\}\}\})/m.exec(stderr) ?? [];
    expect(JSON.parse(line)).toEqual({ audit: { event: { outcome: { at: `/${name}`, map } } } });
    const { nodes } = await read(records, JSON.parse(line).audit.event);
    expect(nodes?.map(({ outcome }) => outcome)).toEqual(
      values.map((value) => Object(map)[String(value)]),
    );
  });

  it.each([
    ['failure_result', ['yes', 'no']],
    ['not_successful', [true, false]],
    ['failed_outcome', ['Y', 'N']],
    ['error_result', [true, false]],
    ['status', [0, 1]],
    ['is_failed', ['maybe', 'Y']],
  ])('%s with %j is not read, because it would be a guess', async (name, values) => {
    const records = values.map((value, id) => ({ id, time: TIME, action: 'login', [name]: value }));
    const { stderr } = await learn(records);
    expect(stderr).not.toContain('{"audit": {"event": {"outcome"');
    const { nodes } = await read(records, {});
    expect(nodes?.map(({ outcome }) => outcome)).toEqual([null, null]);
  });
});

describe('C5: a date alone', () => {
  const readDate = async (when: unknown, pattern: string, zone?: string) => {
    const event = { occurredAt: { at: '/when', as: { pattern }, zone } };
    return (await read([{ when }], event)).nodes?.[0]?.['occurredAt'];
  };

  it.each([
    ['2026-01-05', 'yyyy-MM-dd', 'UTC', '2026-01-05T00:00:00.000Z'],
    ['05.01.2026', 'dd.MM.yyyy', 'Europe/Berlin', '2026-01-04T23:00:00.000Z'],
    [20_260_105, 'yyyyMMdd', '+09:00', '2026-01-04T15:00:00.000Z'],
    ['Mon, 5 Jan 26', 'EEE, d MMM yy', 'America/New_York', '2026-01-05T05:00:00.000Z'],
    ['2026-01-05+02:00', 'yyyy-MM-ddXXX', undefined, '2026-01-04T22:00:00.000Z'],
    ['2026-02-30', 'yyyy-MM-dd', 'UTC', null],
    ['2026-01-05 10:00', 'yyyy-MM-dd', 'UTC', null],
    // The clocks skip midnight: the day begins at 01:00, in Toronto in 1919 at 00:30.
    ['2018-11-04', 'yyyy-MM-dd', 'America/Sao_Paulo', '2018-11-04T03:00:00.000Z'],
    ['2023-04-28', 'yyyy-MM-dd', 'Africa/Cairo', '2023-04-27T22:00:00.000Z'],
    ['2017-03-26', 'yyyy-MM-dd', 'Asia/Beirut', '2017-03-25T22:00:00.000Z'],
    ['1919-03-31', 'yyyy-MM-dd', 'America/Toronto', '1919-03-31T04:30:00.000Z'],
    // They show it twice: the day begins at the first.
    ['2018-10-28', 'yyyy-MM-dd', 'Atlantic/Azores', '2018-10-28T00:00:00.000Z'],
    ['2020-11-01', 'yyyy-MM-dd', 'America/Havana', '2020-11-01T04:00:00.000Z'],
    // Samoa skipped this day.
    ['2011-12-30', 'yyyy-MM-dd', 'Pacific/Apia', null],
  ])('%j by %s in %s is %s', async (when, pattern, zone, instant) => {
    expect(await readDate(when, pattern, zone)).toBe(instant);
  });

  it('is the first instant of that day, in every zone', async () => {
    const zone = fc.constantFrom(
      ...['America/Sao_Paulo', 'Africa/Cairo', 'Asia/Beirut', 'America/Asuncion', 'Asia/Amman'],
      ...['America/Havana', 'America/Scoresbysund', 'Asia/Tehran', 'Europe/Berlin', 'Asia/Gaza'],
      ...['Australia/Lord_Howe', 'Pacific/Chatham', 'America/Santiago', 'America/St_Johns'],
    );
    const day = fc.integer({ min: 0, max: 22_000 }).map((days) => new Date(days * 86_400_000));
    await fc.assert(
      fc.asyncProperty(
        zone,
        fc.array(day, { minLength: 20, maxLength: 20 }),
        async (name, days) => {
          const dates = days.map((date) => date.toISOString().slice(0, 10));
          const { nodes } = await read(
            dates.map((when) => ({ when })),
            { occurredAt: { at: '/when', as: { pattern: 'yyyy-MM-dd' }, zone: name } },
          );
          const format = new Intl.DateTimeFormat('sv', { timeZone: name });
          const instants = (nodes ?? []).map(({ occurredAt }) => Date.parse(String(occurredAt)));
          expect(instants.map((instant) => format.format(instant))).toEqual(dates);
          expect(
            instants.map((instant) => format.format(instant - 1) < format.format(instant)),
          ).toEqual(dates.map(() => true));
        },
      ),
      { numRuns: 30 },
    );
  });

  it('needs a zone, and filters by it', async () => {
    const event = { occurredAt: { at: '/when', as: { pattern: 'yyyy-MM-dd' } } };
    expect(checkContract({ audit: { event } })).toEqual({
      problems: [expect.stringContaining('/occurredAt/zone: must be set')],
    });
    const records = [{ when: '2026-01-04' }, { when: '2026-01-05' }];
    const inBerlin = { occurredAt: { ...event.occurredAt, zone: 'Europe/Berlin' } };
    const { nodes } = await read(records, inBerlin, READ('since: "2026-01-04T23:00:00Z"'));
    expect(nodes).toHaveLength(1);
  });
});

const problemOf = (text: string) => String(Object.values(parseContract(text)));

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('C6: an error in a contract file', () => {
  it.each([
    ['{"audit": {"paging": {"folow": "query"}}}', 'folow', 'follow'],
    ['{"audit": {"event": {"occuredAt": "/a"}}}', 'occuredAt', 'occurredAt'],
    ['{"login": {"acces_token": "/a"}}', 'acces_token', 'accessToken'],
    ['{"audit": {"event": {"actor": {"id": "/a", "identifer": "/a"}}}}', 'identifer', 'identifier'],
    ['{"audit": {"event": {"action": {"at": "/a", "mapp": {"A": "b"}}}}}', 'mapp', 'map'],
    [
      '{"audit": {"event": {"occurredAt": {"at": "/a", "as": "iso8601", "zon": "UTC"}}}}',
      'zon',
      'zone',
    ],
    ['{"login": {"expires": {"at": {"heder": "a"}, "as": "seconds"}}}', 'heder', 'header'],
    ['{"audits": {}}', 'audits', 'audit'],
    ['{"audit": {"follow": "query"}}', 'follow', '/audit/paging/follow'],
    ['{"event": {"id": "/a"}}', 'event', '/audit/event'],
  ])('%s: the message names the nearest entry', (text, typed, meant) => {
    const parsed = parseContract(text);
    const problems = 'problems' in parsed ? parsed.problems : [];
    expect(problems.join('\n')).toContain(
      `/${typed} is not an entry of a contract. Did you mean ${meant}?`,
    );
  });

  it('without a near name has no hint', () => {
    expect(parseContract('{"zzzzzzzzz": 1}')).toEqual({
      problems: ['/zzzzzzzzz is not an entry of a contract.'],
    });
  });

  it.each([
    ['', 1, 1, ''],
    ['{', 1, 2, ''],
    ['{\n  "audit": {\n    "total" "/CANARY"\n  }\n}', 3, 13, ''],
    ['{\r\n  "audit": {},\r\n}', 3, 1, 'Remove the comma before it.'],
    ['{"audit": {"event": {"id": ["/a", "/CANARY",]}}}', 1, 45, 'Remove the comma before it.'],
    ['{\n  // CANARY\n  "audit": {}\n}', 2, 3, 'JSON has no comments: remove it.'],
    ['{"audit": /* CANARY */ {}}', 1, 11, 'JSON has no comments: remove it.'],
    ["{'audit': {}}", 1, 2, ''],
    ['{"audit": {"total": "/CANARY\n"}}', 1, 29, ''],
    ['{"audit": {"total": "/CANARY\\x"}}', 1, 29, ''],
    ['{"audit": {}} {"CANARY": 1}', 1, 15, ''],
    ['{"audit": NaN}', 1, 11, ''],
    ['{"é": "🔑" 1}', 1, 12, ''],
    ['{"audit": {}} "', 1, 16, ''],
    ['{"total": 01}', 1, 12, ''],
    ['{"total": true#}', 1, 15, ''],
  ])('%j is not JSON at line %i, column %i', async (text, line, column, hint) => {
    const problem = `the file is not valid JSON: see line ${line}, column ${column}.${hint && ` ${hint}`}`;
    expect(parseContract(text)).toEqual({ problems: [problem] });
  });

  it('is named at the start of the gateway, without a value of the file', async () => {
    const { writeFile } = await import('node:fs/promises');
    const file = folder.pathOf('broken.json');
    await writeFile(file, '{\n  "audit": { "total": "/CANARY" "event": {} }\n}');
    await using command = keytrailInProcess(['--port', '0'], { KEYTRAIL_CONTRACT: file });
    expect(await command.status).toBe(2);
    const { stderr } = command.output;
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain('see line 2, column 33.');
    expect(stderr).not.toContain('CANARY');
  });

  it('behind thousands of brackets has no place', () => {
    expect(parseContract('['.repeat(100_000))).toEqual({
      problems: ['the file is not valid JSON: it is nested too deeply to say where.'],
    });
  });

  it('has a place in a contract of which a part is exchanged for another, unless that is JSON', () => {
    const contract =
      '{\r\n "audit": {"total": "/\\u00e9", "event": {"id": ["/a"]}},\n "login": null}';
    const parts = fc.constantFrom(
      ...'"\\/,:{}[]\n\r\t\0é',
      '//',
      '/*',
      '\\u12',
      '01',
      '1.',
      'true',
      'nul',
    );
    const place = fc.nat({ max: contract.length });
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 3 }), place, place, (given, from, to) => {
        const text = contract.slice(0, from) + given.join('') + contract.slice(to);
        const [, line, column] = /see line (\d+), column (\d+)\./.exec(problemOf(text)) ?? [];
        const end = text.split(/\r\n?|\n/)[Number(line) - 1]?.length ?? -1;
        expect(Number(column) >= 1 && Number(column) <= end + 1).toBe(!isJson(text));
      }),
      { numRuns: 3000 },
    );
  });

  it('is at the place where a text stops being JSON', () => {
    const json = fc.json({ maxDepth: 3 });
    fc.assert(
      fc.property(json, fc.nat(), (text, at) => {
        // A prefix is either JSON itself, such as 1 of 12, or ends too early.
        const prefix = text.slice(0, at % (text.length + 1));
        const parsed = parseContract(prefix);
        const problem = String(Object.values(parsed));
        if (problem.includes('not valid JSON') && /["\]}\s]$/.test(prefix))
          expect(problem).toContain(`column ${prefix.length + 1}.`);
        // A character that is in no JSON outside of a text.
        expect(parseContract(`${text}\u0001`)).toEqual({
          problems: [`the file is not valid JSON: see line 1, column ${text.length + 1}.`],
        });
      }),
    );
  });
});

const C = 'CANARY-7f3a9c';
const LIST = [{ id: C, label: C }];

/** Responses to logins with lists of objects, all of whose texts are canaries. */
const LOGINS: readonly (readonly [name: string, body: unknown])[] = [
  ['a ticket with roles', { ticket: C, roles: LIST }],
  ['a session id with permissions', { sid: C, permissions: LIST }],
  ['Spring', { JSESSIONID: C, authorities: [{ authority: C, createdAt: TIME }] }],
  ['a hash', { hash: C, users: [{ name: C, created: TIME, type: C }] }],
  ['a key in base64', { base64EncodedAuthenticationKey: C, realms: LIST }],
  ['sessions', { sessions: [{ sid: C, created_at: TIME, user: C, device: C }] }],
  ['sessions below data', { data: { sessions: [{ handle: C, started_at: TIME, event: C }] } }],
  ['a bare list of keys', [{ k: C, v: C, at: TIME }]],
  ['a list of tokens', { tokens: [{ type: 'access', value: C, issued_at: TIME }] }],
  ['cookies', { cookies: [{ name: C, value: C, expires: TIME }] }],
  ['AWS', { Credentials: [{ AccessKeyId: C, SecretAccessKey: C, Expiration: TIME }] }],
  ['SAP', { d: { results: [{ TICKET: C, SAP_SESSIONID: C, Begda: TIME }] } }],
  ['WebAuthn', { allowCredentials: [{ id: C, type: C, transports: [C] }], challenge: C }],
  ['Keystone', { catalog: [{ id: C, type: C, endpoints: [{ url: C, id: C }] }], audit_ids: [C] }],
  ['Kerberos', { tgt: C, principals: [{ realm: C, issued: TIME, action: C }] }],
  ['recent logins', { id: C, recentLogins: [{ time: TIME, action: 'login', ip: C, actor: C }] }],
  ['recent activity', { user: { id: C }, activity: [{ at: TIME, action: 'login', by: C, x: C }] }],
  ['an opaque text', { result: C, events: [{ at: TIME, action: 'login', by: C }] }],
  ['MFA', { factors: [{ factorId: C, provider: C, otp: C }], stateToken: C }],
  ['devices', { items: [{ device: C, secret: C, registered: TIME, status: 'ok' }], uid: C }],
  ['actions without times', { data: [{ action: 'login', x: C }] }],
  [
    'one action of many',
    { data: [{ at: TIME, action: 'login' }, { at: TIME, x: C }, ...both({ at: TIME, x: C })] },
  ],
  ['words like outcomes', { data: [{ q: 'nok' }, { q: `grant_${C}` }, { x: C }] }],
  ['numbered sessions', { s1: { key: C, at: TIME }, s2: { key: C, at: TIME } }],
];

const HAR = {
  log: {
    version: '1.2',
    entries: [
      {
        startedDateTime: TIME,
        _id: 1,
        action: 'login',
        request: { method: 'POST', url: C, postData: { text: C } },
        response: { status: 200, content: { text: JSON.stringify({ t: C }) } },
      },
      {
        startedDateTime: TIME,
        _id: 2,
        request: { method: 'GET', url: C },
        response: { status: 200, content: { text: C } },
        action: 'read',
      },
    ],
  },
};

describe('C7: learn', () => {
  it('shows no value of a HAR, which it refuses', async () => {
    const { status, stdout, stderr } = await learn(HAR);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toContain('is a recording (HAR)');
    expect(stderr).not.toContain('CANARY');
  });

  it.each(LOGINS)('shows no value of a login: %s', async (_, body) => {
    const { stdout, stderr } = await learn(body);
    expect(stdout + stderr).not.toContain('CANARY');
    expect(stderr).toContain(`(${C.length} characters)`);
  });

  it.each(LOGINS)(
    'shows none with a contract of the trail, beside a page of it: %s',
    async (_, body) => {
      const contract = await folder.write('items.json', { audit: { records: '/items' } });
      const trail = { items: [{ id: 1, time: TIME, action: 'key.delete' }] };
      const file = await folder.write('trail.json', trail);
      for (const args of [[file], [file, '--contract', contract]]) {
        const { status, stdout, stderr } = await learn(body, ...args);
        expect(status).toBe(0);
        expect(stdout + stderr).not.toContain('CANARY');
      }
    },
  );

  it('shows no value of any field, whatever the shape of a login is', () => {
    const names = [
      ...[
        'sid',
        'ticket',
        'JSESSIONID',
        'hash',
        'value',
        'id',
        'name',
        'type',
        'x',
        'key',
        'status',
      ],
      ...[
        'at',
        'time',
        'action',
        'event',
        'actor',
        'user',
        'ip',
        'result',
        'created_at',
        'expires_in',
      ],
    ];
    const lists = [
      'sessions',
      'data',
      'items',
      'events',
      'logs',
      'roles',
      'tokens',
      'a',
      'history',
    ];
    const value = fc.constantFrom(
      C,
      `${C}=`,
      TIME,
      `${C}:${C}`,
      'login',
      true,
      null,
      `{"a":"${C}"}`,
    );
    const record = fc.dictionary(fc.constantFrom(...names), value, { minKeys: 1 });
    const list = fc.array(record, { minLength: 1, maxLength: 3 });
    const own = fc.constantFrom('sid', 'ticket', 'session', 'JSESSIONID', 'authKey', 'q', 'user');
    const body = fc
      .tuple(
        own,
        fc.dictionary(fc.constantFrom(...lists), list, { minKeys: 1, maxKeys: 2 }),
        record,
      )
      .chain(([name, inner, more]) =>
        fc.constantFrom(
          { [name]: C, ...inner },
          { ...more, [name]: C, data: inner },
          { [name]: inner, note: C },
          { ...inner, login: { [name]: C, ...more } },
        ),
      );
    fc.assert(
      fc.property(body, (saved) => {
        const response = { status: 200, headers: { 'set-cookie': C, 'x-id': C }, body: saved };
        const { contract, kinds } = learnContract([response]);
        const report = formatReport([{ name: 'x', response }], kinds, contract, {});
        expect(report + JSON.stringify(contract)).not.toContain('CANARY');
      }),
      { numRuns: 500 },
    );
  });

  it('shows the values of what is certainly a trail, apart from credentials and texts around it', async () => {
    const records = [
      { id: 'e1', time: TIME, action: 'key.delete', actor: 'ann', colour: 'red' },
      { id: 'e2', time: TIME, action: 'login', actor: 'bob', sid: C, JSESSIONID: C, hash: C },
    ];
    const { stderr } = await learn({ events: records, found: 57, note: 'by night' });
    for (const shown of ['e1', 'key.delete', 'ann', '/colour      red', '/found 57'])
      expect(stderr).toContain(shown);
    expect(stderr).not.toMatch(/CANARY|by night/);
  });

  it('shows the values of the trail that it requests itself', async () => {
    await using service = await startService({ body: [{ nr: 1, colour: 'red' }] });
    const { stderr } = await runFor(service.url, ['learn']);
    expect(stderr).toContain('/colour  red');
  });

  it.each([
    ['validity', '31.12.2026 10:00', '16 characters'],
    ['session_ttl_in_hours', 918_273, '6 characters'],
  ])('suggests an expiry by its length: %s', async (name, value, length) => {
    const { stderr } = await learn({ access_token: C, [name]: value });
    expect(stderr).toContain(`(${length})`);
    expect(stderr).not.toContain(String(value));
  });

  it('says why it shows lengths only', async () => {
    const { report } = await learn({ rows: [{ nr: 1, colour: 'red' }] });
    expect(report).toContain('Only the lengths of values are shown, as');
    expect(report).toContain('run learn on the trail of the service, without --from.');
  });

  it('record and check show no value of a login either', async () => {
    const trail = [{ id: 1, time: TIME, action: 'key.delete', actor: { id: 'ann' } }];
    await using service = await startService({ body: trail });
    const login = { access_token: C, ticket: C, sessions: [{ sid: C, at: TIME, user: C }] };
    const file = await folder.write('login.json', login);
    const to = folder.pathOf('recording.har');
    const recorded = await runFor(service.url, ['record', '--to', to, '--login', file]);
    const checked = await runFor(service.url, ['check', '--from', to, '--output', 'json']);
    expect([recorded.status, checked.status]).toEqual([0, 0]);
    const texts = [recorded.stdout, recorded.stderr, checked.stdout, checked.stderr];
    expect(texts.join() + (await folder.read('recording.har'))).not.toContain('CANARY');
  });
});

describe('learn on paging', () => {
  const trail = (more: object, length = 2) => ({
    events: Array.from({ length }, (_, id) => ({ id, time: TIME, action: 'login' })),
    ...more,
  });

  it('P9: suggests inclusive for last-value, unless it is set', async () => {
    for (const [inclusive, isSuggested] of [
      [undefined, true],
      [true, false],
      [false, false],
    ] as const) {
      const paging = { style: 'last-value', last: '/time', parameter: 'before', inclusive };
      const contract = await folder.write('last.json', { audit: { paging } });
      const { report } = await learn(trail({}), '--contract', contract);
      expect(report.includes('set audit.paging.inclusive to true')).toBe(isSuggested);
      expect(report.includes('Records are lost if /time is the same')).toBe(isSuggested);
    }
  });

  it.each([
    ['a number of pages', { total_pages: 3 }],
    ['a flag', { has_more: true }],
    ['a total', { total: 7 }],
  ])('P10: names start, which must be checked, if the body has only %s', async (_, more) => {
    const { report } = await learn(trail(more));
    expect(report).toContain('audit.paging.start to the number of its first page');
    expect(report).toContain('check that the second page follows the first');
  });

  it('P10: does not name start if the body has the number of the page', async () => {
    const { report } = await learn(trail({ page: 1, total_pages: 3 }));
    expect(report).toContain('set audit.paging.parameter');
    expect(report).not.toContain('audit.paging.start');
  });

  it.each([
    ['another path', { next: 'https://api.example.com/v2/events?page=2' }, '/next', []],
    ['a relative path', { links: { next: '/other?page=2' } }, '/links/next', []],
    [
      'another host',
      { next: 'http://10.0.0.7:8080/api/v1/audit?page=2' },
      '/next',
      ['--upstream-url', 'https://api.example.com'],
    ],
  ])('P11: says that the next link leads to %s', async (_, more, pointer, args) => {
    const { report } = await learn(trail(more), ...args);
    expect(report).toContain(
      `the link at ${pointer} leads to another host or path: set audit.paging.follow to "query".`,
    );
    const follow = await folder.write('follow.json', { audit: { paging: { follow: 'query' } } });
    const followed = await learn(trail(more), ...args, '--contract', follow);
    expect(followed.report).not.toContain('leads to another host');
  });

  it('P11: compares the link with the URL of the service that it requests', async () => {
    await using service = await startService(({ headers }) => ({
      body: trail({ next: `http://${headers.host?.replace(/\d+$/, '1')}/api/v1/audit?page=2` }),
    }));
    const { stderr } = await runFor(service.url, ['learn']);
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain('the link at /next leads to another host');
    await using own = await startService(({ headers }) => ({
      body: trail({ next: `http://${headers.host}/api/v1/audit?page=2` }),
    }));
    expect((await runFor(own.url, ['learn'])).stderr).not.toContain('another host');
  });

  it('P11: says what to compare if the URL of the service is unknown', async () => {
    const { report } = await learn(trail({ next: 'https://a.example/api/v1/audit?page=2' }));
    expect(report).toContain(
      'If the link at /next leads to another host or path than UPSTREAM_URL',
    );
    const relative = await learn(trail({ next: '/api/v1/audit?page=2' }));
    expect(relative.report).not.toContain('another host');
  });
});
