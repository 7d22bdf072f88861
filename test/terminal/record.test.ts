import { chmod, readdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AuditDocument, type AuditQuery } from '../../src/client/operations.generated.ts';
import { completeLogin } from '../../src/gateway/inference/login.ts';
import { createStandIns } from '../../src/terminal/record/stand-ins.ts';
import { createTestbed } from '../../src/testing/testbed.ts';
import { ask, gatewayOver } from '../helpers/gateway.ts';
import { createFolder, encodingsOf, runFor, TOKEN, withoutLogin } from '../helpers/recording.ts';
import { type ServiceResponse, startService } from '../helpers/service.ts';
import { samplesOf } from '../shapes/shapes.ts';

let folder: Awaited<ReturnType<typeof createFolder>>;
beforeAll(async () => {
  folder = await createFolder();
});
afterAll(() => folder[Symbol.asyncDispose]());

type Node = NonNullable<AuditQuery['audit']>['nodes'][number];

/** The fields that may have stand-ins, apart from `raw`. */
const personalOf = ({ actor, target, ipAddress }: Node) => [
  ...[actor?.identifier, actor?.name, target?.identifier, target?.name, ipAddress],
];

/** For each value, the index of the first one that is equal. */
const equality = (values: readonly unknown[]) => values.map((value) => values.indexOf(value));

const variables = { first: 1000, withRaw: true };

/** Reads the trail through a gateway. */
async function readLive(url: string, contract = {}) {
  await using gateway = gatewayOver(url, { contract });
  return (await ask(gateway, AuditDocument, variables, { token: TOKEN })).data?.audit;
}

/** Reads the trail from a recording. */
async function readRecorded(recording: string, contract = {}, first = 1000) {
  await using testbed = await createTestbed({ recording, gateway: { contract } });
  return await testbed.request(AuditDocument, { ...variables, first });
}

const events = [
  ['ann@example.org', '203.0.113.77', 'key.create', 'SUCCESS'],
  ['bob@example.org', '2a00:1450::8', 'key.delete', 'FAILURE'],
  ['ann@example.org', '203.0.113.77', 'key.delete', 'SUCCESS'],
].map(([actor, ip, action, outcome], index) => ({
  ...{ id: `e${index}`, at: `2026-11-2${index}T08:00:00Z`, action, outcome, actor_id: actor, ip },
  ...{ target_id: `7c9e6679-7425-40de-944b-e07fc1f90ae${index}`, target_name: 'Payments Ltd' },
  note: `${actor} asked from ${ip}`,
}));

const LENGTH = 200_000;

/** Parts whose repetition makes a pattern slow that scans the same characters again from each start. */
const LONG_TEXTS = [
  ...[
    'a',
    'a.',
    'a-',
    'é.',
    '1',
    '1.',
    '1:',
    ':',
    'a:',
    '.',
    '-',
    '_',
    '+',
    '=',
    '@',
    'a@',
    'a@b.',
  ],
  ...[
    '%',
    '%25',
    '%2525',
    '%40',
    'a%40',
    '/',
    'a/',
    '"',
    '\\',
    '\\u',
    '\\n',
    '\\/',
    '\\"',
    '\\u005c',
  ],
  ...['V', 'VVVVVVVV ', 'aB3/', 'ey', 'ey-', 'ey-.', 'ey-aaaaaaaa.', ' ', 'a ', ',', 'a, ', '\n'],
  ...['https://a.b/', '%255cu005c '],
].map(
  (part) => [JSON.stringify(part), `x${part.repeat(Math.ceil(LENGTH / part.length))}`] as const,
);

describe('keytrail record', () => {
  it.each(samplesOf('audit'))(
    'writes a recording of $name that plays back equal but for stand-ins',
    async ({ name, response, contract: given }) => {
      const contract = withoutLogin(given);
      await using service = await startService(response);
      const original = await readLive(service.url, contract);
      const to = folder.pathOf(`${name}.har`);
      const options = { contract: await folder.write(`${name}.contract.json`, contract) };
      const { status, stderr } = await runFor(service.url, ['record', '--to', to], options);
      expect(stderr).toMatch(/^Recorded to /);
      expect(status).toBe(0);
      const { data } = await readRecorded(to, contract);
      const [before, after] = [original?.nodes ?? [], data?.audit?.nodes ?? []];
      expect(before.length).toBeGreaterThan(0);
      for (const field of ['occurredAt', 'outcome'] as const)
        expect(after.map((node) => node[field])).toEqual(before.map((node) => node[field]));
      const [texts, standIns] = [before.flatMap(personalOf), after.flatMap(personalOf)];
      expect(equality(standIns)).toEqual(equality(texts));
      for (const [index, text] of texts.entries())
        if (text != null) expect(standIns[index]).not.toBe(text);
      expect(data?.audit?.totalCount).toBe(original?.totalCount);
      expect(data?.audit?.pageInfo.hasNextPage).toBe(original?.pageInfo.hasNextPage);
    },
  );

  it.each(samplesOf('login').filter(({ expect: { accessToken } }) => accessToken !== null))(
    'records the login response $name without any of its texts',
    async ({ name, response, contract }) => {
      await using service = await startService({ body: { events } });
      const file = await folder.write(`${name}.json`, response.body);
      const to = folder.pathOf(`login-${name}.har`);
      const options = { contract: await folder.write('login.contract.json', contract ?? {}) };
      const args = ['record', '--to', to, '--login', file];
      const { status, stderr } = await runFor(service.url, args, options);
      if (completeLogin(response, contract?.login).accessToken === null) {
        expect(stderr).toContain('--login: the response has no access token.');
        return;
      }
      expect(stderr).toMatch(/^Recorded to /);
      expect(status).toBe(0);
      const text = await folder.read(`login-${name}.har`);
      for (const [token = ''] of JSON.stringify(response.body).matchAll(
        /[\w-]*(?:fake|eyJ)[\w-]*/g,
      ))
        expect(text).not.toContain(token);
    },
  );

  it('replaces persons by stand-ins of the same kind, equal for equal, wherever they are named', async () => {
    await using service = await startService({ body: { events, for: 'bob@example.org' } });
    await runFor(service.url, ['record', '--to', folder.pathOf('persons.har')]);
    const har = JSON.parse(await folder.read('persons.har'));
    const { events: recorded, ...envelope } = JSON.parse(har.log.entries[0].response.content.text);
    expect(envelope).toEqual({ for: 'user2@example.com' });
    expect(recorded.map(({ note }: { note: string }) => note)).toEqual([
      'user1@example.com bbbbb bbbb 198.18.0.1',
      'user2@example.com bbbbb bbbb 2001:db8::2',
      'user1@example.com bbbbb bbbb 198.18.0.1',
    ]);
    expect(recorded[2]).toEqual({
      ...events[2],
      ...{ id: 'b6', actor_id: 'user1@example.com', ip: '198.18.0.1' },
      ...{ target_id: '8b8b8888-8888-88bb-888b-b88bb8b88bb6', target_name: 'Bbbbbbbb Bbb' },
      note: recorded[0].note,
    });
  });

  it('gives each item of a list its own stand-in, also in a link', async () => {
    const body = ['203.0.113.77, 2a00:1450::8', '2a00:1450::8', 'proxy.example'].map((ip) => ({
      ...{ time: '2026-11-21T08:00:00Z', action: 'key.create', user: 'Lee, Ann', ip },
      url: 'https://example.org/users/Lee%2C%20Ann?mail=ann%40example.org',
    }));
    await using service = await startService({ body });
    await runFor(service.url, ['record', '--to', folder.pathOf('lists.har')]);
    const har = JSON.parse(await folder.read('lists.har'));
    const recorded = JSON.parse(har.log.entries[0].response.content.text);
    const url = 'https://bbbbbbb.bbb/bbbbb/Bbb%2C%20Bbc?bbbb=user1%40example.com';
    expect(recorded).toEqual(
      ['198.18.0.1, 2001:db8::2', '2001:db8::2', 'bbbbb.bbbbbbb'].map((ip, index) => ({
        ...body[index],
        ...{ user: 'Bbb, Bbc', ip, url },
      })),
    );
  });

  it('replaces persons in an action that is a sentence', async () => {
    const body = ['Ann Lee', 'Bob'].map((user) => ({
      ...{ time: '2026-11-21T08:00:00Z', user, message: `${user} logged in from 203.0.113.77` },
    }));
    await using service = await startService({ body });
    const to = folder.pathOf('sentence.har');
    await runFor(service.url, ['record', '--to', to]);
    const { data } = await readRecorded(to);
    expect(data?.audit?.nodes.map(({ action }) => action)).toEqual([
      'Bbb Bbc bbbbbb bb bbbb 198.18.0.1',
      'Bbd bbbbbb bb bbbb 198.18.0.1',
    ]);
  });

  it('keeps numbers numbers of as many digits, and what the contract reads as action and time', async () => {
    const records = [4711, 4711, 815].map((id, index) => ({
      ...{ id: index, time: 1_700_000_000 + id, action: 'ann', actor: { id, name: 'ann' } },
    }));
    await using service = await startService({ body: records });
    await runFor(service.url, ['record', '--to', folder.pathOf('numbers.har')]);
    const har = JSON.parse(await folder.read('numbers.har'));
    const recorded = JSON.parse(har.log.entries[0].response.content.text);
    expect(recorded).toEqual([
      { ...records[0], id: 8, actor: { id: 8888, name: 'bbb' } },
      { ...records[1], id: 7, actor: { id: 8888, name: 'bbb' } },
      { ...records[2], id: 6, actor: { id: 888, name: 'bbb' } },
    ]);
  });

  it.each<[string, object, (page: number, base: string) => ServiceResponse]>([
    [
      'a next link',
      {},
      (page, base) => ({
        body: {
          events,
          next: page < 4 ? `${base}/api/v1/audit?page=${page + 1}&t=${TOKEN}` : null,
        },
      }),
    ],
    [
      'a relative next link',
      {},
      (page) => ({ body: { events, next: `/api/v1/audit?page=${page + 1}` } }),
    ],
    [
      'a Link header',
      {},
      (page, base) => ({
        body: events,
        headers: { link: `<${base}/api/v1/audit?a=b%20c&page=${page + 1}>; rel="next"` },
      }),
    ],
    [
      'a cursor that contains the token',
      { paging: { parameter: 'page', size: 'limit' } },
      (page) => ({
        body: { events, next_cursor: `${page + 1}.${Buffer.from(TOKEN).toString('base64url')}` },
      }),
    ],
    [
      'page numbers',
      { paging: { parameter: 'page' } },
      (page) => ({ body: { events, page, total_pages: 9 } }),
    ],
    ['last IDs', { paging: { style: 'last-id', parameter: 'page' } }, () => ({ body: { events } })],
  ])('records pages with %s, and plays them back', async (name, audit, respond) => {
    let base = '';
    await using service = await startService(({ url }) => {
      const parameter = new URL(url, base).searchParams.get('page') ?? '1';
      const page = Number(/\d+/.exec(parameter)?.[0]);
      const response = respond(page, base);
      const text = JSON.stringify(response.body).replace(/"e(\d)"/g, `"e${page}$1"`);
      return { ...response, body: text };
    });
    base = service.url;
    const contract = { audit };
    const options = { contract: await folder.write('paging.contract.json', contract) };
    const to = folder.pathOf('paging.har');
    const { status, stderr } = await runFor(base, ['record', '--to', to], options);
    expect(`${status} ${stderr}`).toMatch(/^0 .* records 9, pages 3, stand-ins/);
    expect(service.seen.map(({ method }) => method)).toEqual(['GET', 'GET', 'GET']);
    expect(service.seen[0]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
    const text = await folder.read('paging.har');
    for (const encoded of encodingsOf(TOKEN)) expect(text).not.toContain(encoded);
    const { data } = await readRecorded(to, contract, 9);
    expect(data?.audit?.nodes.map(({ action }) => action)).toEqual(
      [1, 2, 3].flatMap(() => events.map(({ action }) => action)),
    );
    expect(data?.audit?.pageInfo.hasNextPage, name).toBe(true);
    const { errors } = await readRecorded(to, contract, 10);
    expect(errors?.[0]?.extensions?.code).toBe('NOT_FOUND');
  });

  it('writes HAR 1.2 without the Authorization header, readable by its owner only, and nothing else', async () => {
    await using service = await startService({
      body: { events },
      headers: { 'set-cookie': `session=${TOKEN}`, 'x-user': TOKEN },
    });
    await using own = await createFolder();
    const to = await own.write('service.har', 'old');
    await chmod(to, 0o644);
    expect((await runFor(service.url, ['record', '--to', to])).status).toBe(0);
    expect((await stat(to)).mode & 0o777).toBe(0o600);
    expect(await readdir(dirname(to))).toEqual(['service.har']);
    const { log } = JSON.parse(await own.read('service.har'));
    expect(log).toMatchObject({ version: '1.2', creator: { name: 'keytrail' } });
    expect(log.entries).toHaveLength(1);
    expect(log.entries[0]).toMatchObject({
      request: { method: 'GET', url: `${service.url}/api/v1/audit`, headers: [], queryString: [] },
      response: { status: 200, content: { mimeType: 'application/json' } },
    });
    const names = log.entries[0].response.headers.map(({ name }: { name: string }) => name);
    expect(names).toEqual(['content-type']);
  });

  it('prints the pointers of the texts that stayed, in 100 columns, without keys that are data', async () => {
    const names = Array.from({ length: 9 }, (_, index) => `a_rather_long_name_${index}`);
    const body = {
      events: [
        {
          ...events[0],
          ...Object.fromEntries(names.map((name) => [name, '--'])),
          'Ann Lee': { note: '...' },
        },
      ],
      status: 'ok',
    };
    await using service = await startService({ body });
    const args = ['record', '--to', folder.pathOf('kept.har')];
    const { stderr } = await runFor(service.url, args);
    const lines = stderr.trimEnd().split('\n');
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(100);
    expect(lines[0]).toMatch(/^Recorded to .* stand-ins \d+\.$/);
    expect(lines.slice(1).join('').replace(/ +/g, ' ')).toBe(
      `Texts that stayed in the records: /at, /action, /outcome, ${names.map((name) => `/${name}`).join(', ')}, /Bbb Bbc/note.Texts that stayed around them: /status.`,
    );
  });

  it('writes nothing if the trail would be mapped differently without the token', async () => {
    const keyed = events.map(({ at, ...rest }) => ({ ...rest, [`${TOKEN} at`]: at }));
    await using service = await startService({ body: keyed });
    await using own = await createFolder();
    const { status, stderr } = await runFor(service.url, ['record', '--to', own.pathOf('a.har')]);
    expect(status).toBe(1);
    expect(stderr).toMatch(/is not written: .*mapped differently/);
    expect(stderr).not.toContain(TOKEN);
    expect(await readdir(dirname(own.pathOf('a')))).toEqual([]);
  });

  it.each<[ServiceResponse, number, string]>([
    [{ status: 401 }, 6, 'UNAUTHENTICATED'],
    [{ status: 503 }, 3, 'UPSTREAM_ERROR'],
    [{ body: '<html>' }, 3, 'UPSTREAM_BAD_RESPONSE'],
  ])(
    'writes nothing if the service responds with %j: exit status %i',
    async (response, exit, code) => {
      await using service = await startService(response);
      await using own = await createFolder();
      const { status, stderr } = await runFor(service.url, ['record', '--to', own.pathOf('a.har')]);
      expect(status).toBe(exit);
      expect(stderr).toContain(`(${code}`);
      expect(stderr).not.toContain(TOKEN);
      expect(await readdir(dirname(own.pathOf('a')))).toEqual([]);
    },
  );

  it('removes a token of digits that the service returns as a number, an actor and a header', async () => {
    const token = '4711004711004711';
    const records = events.map((event) => ({ ...event, actor_id: token, session: Number(token) }));
    await using service = await startService({ body: records, headers: { 'x-count': token } });
    const args = ['record', '--to', folder.pathOf('digits.har')];
    const { status, stderr } = await runFor(service.url, args, { token });
    expect(`${status} ${stderr}`).toMatch(/^0 Recorded/);
    expect(await folder.read('digits.har')).not.toContain(token);
  });

  it.each<[string, string, (token: string) => ServiceResponse]>([
    ['an action', 'ann-reads', (action) => ({ body: events.map((one) => ({ ...one, action })) })],
    [
      'the type of an actor',
      'ann-reads',
      (type) => ({ body: events.map((one) => ({ ...one, actor: { id: 'e', type } })) }),
    ],
    ['the total', '471100', (token) => ({ body: { events, total: Number(token) } })],
    ['a count in a header', '471100', (token) => ({ body: events, headers: { 'x-count': token } })],
    ['what says that nothing is wrong', 'completed', (status) => ({ body: { events, status } })],
  ])('replaces a token that is %s, which would stay otherwise', async (_, token, respond) => {
    await using service = await startService(respond(token));
    const to = folder.pathOf('kept-token.har');
    const { status, stderr } = await runFor(service.url, ['record', '--to', to], { token });
    expect(`${status} ${stderr}`).toMatch(/^0 Recorded/);
    expect(await folder.read('kept-token.har')).not.toContain(token);
  });

  it.each<[string, string, object]>([
    ['in the URL of the service', '/by/ann-reads', {}],
    ['in a part of an action', '', { event: { action: { at: '/what', split: ':', part: 2 } } }],
  ])('writes nothing if a token remains %s', async (_, base, audit) => {
    const token = 'ann-reads';
    const what = events.map(({ action, ...rest }) => ({ ...rest, what: `anything:${token}` }));
    await using service = await startService({ body: base === '' ? what : events });
    await using own = await createFolder();
    const contract = await folder.write('split.contract.json', { audit });
    const args = ['record', '--to', own.pathOf('a.har')];
    const { status, stderr } = await runFor(service.url + base, args, { token, contract });
    expect(`${status} ${stderr}`).toMatch(
      /^1 .* is not written: it would contain a credential\.\n$/,
    );
    expect(stderr).not.toContain(token);
    expect(await readdir(dirname(own.pathOf('a')))).toEqual([]);
  });

  it('exits with 2 without a file to write, without a token, or with a folder that does not exist', async () => {
    await using service = await startService({ body: { events } });
    const to = folder.pathOf('no/such/folder.har');
    for (const [args, token] of [
      [['record'], TOKEN],
      [['record', '--to', folder.pathOf('a.har')], ''],
      [['record', '--to', folder.pathOf('a.har')], 'Bearer token'],
      [['record', '--to', folder.pathOf('a.har'), '--pages', '0'], TOKEN],
      [['record', '--to', to], TOKEN],
    ] as const)
      expect((await runFor(service.url, args, { token })).status, args.join(' ')).toBe(2);
  });

  it.each(LONG_TEXTS)('redacts a text of %s that is long', (_, text) => {
    const { ofText } = createStandIns([]);
    const personal = ofText(`${text} Ann Lee, bob@example.org, 203.0.113.77`);
    for (const secret of ['Ann', 'Lee', 'bob@', '203.0.113.77'])
      expect(personal.includes(secret), secret).toBe(false);
  });

  it('records a user agent and a key of 2 MB', async () => {
    const long = 'a.'.repeat(1_000_000);
    const [event] = events;
    await using service = await startService({ body: [{ ...event, user_agent: long, [long]: 1 }] });
    const { status, stderr } = await runFor(service.url, [
      'record',
      '--to',
      folder.pathOf('l.har'),
    ]);
    expect(`${status} ${stderr}`).toMatch(/^0 Recorded/);
  });
});
