import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventsOf, readTrail } from '../../src/gateway/api/read-trail.ts';
import type { ConfiguredContract } from '../../src/gateway/mapping/contract.ts';
import type { Path } from '../../src/gateway/upstream/path.ts';
import { openRecording } from '../../src/terminal/open-recording.ts';
import { createCredentialSearch } from '../../src/terminal/record/find-credentials.ts';
import { createRecording } from '../../src/terminal/record/record-trail.ts';
import { encodingsOf, TOKEN, withoutLogin } from '../helpers/recording.ts';
import { samplesOf } from '../shapes/shapes.ts';

type Response = {
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

const BASE = 'https://service.example.com/base';

/** Records what a service responds to each path. */
async function recordFrom(
  respond: (path: string) => Response,
  configured: ConfiguredContract = {},
  maxPages = 3,
) {
  const url = new URL(BASE);
  const get = async ({ value }: Path) => ({ status: 200, headers: {}, ...respond(value) });
  const pages = await readTrail({ url, get }, configured, maxPages);
  const recorded = { url, pages, login: null, configured, credentials: [TOKEN] };
  const open = (text: string) => openRecording(text, 'service.har');
  const creator = { version: '0.1.0', now: () => new Date(0) };
  const recording = await createRecording(recorded, open, creator);
  const { log } = JSON.parse(recording.text);
  const bodies = log.entries.map(({ response }: { response: { content: { text: string } } }) =>
    JSON.parse(response.content.text),
  );
  return { ...recording, pages, entries: log.entries, bodies };
}

/** The text of a recording, and what is in it if JSON texts, percent-encoding and escapes are decoded. */
function decodingsOf({ text, bodies }: { readonly text: string; readonly bodies: unknown }) {
  const decoded = JSON.stringify(bodies).replace(/(?:%[\da-f]{2})+/gi, (bytes) =>
    Buffer.from(bytes.replaceAll('%', ''), 'hex').toString(),
  );
  return `${text}\n${decoded}\n${decoded.replaceAll('\\', '')}`;
}

/** Values that nobody may see, in members that mapping does not read, with what must not be in the recording. */
const PLANTS: readonly (readonly [string, unknown, readonly string[]])[] = [
  ['first_name', 'Zacharias', ['Zacharias']],
  ['family name', 'Oquendo', ['Oquendo']],
  ['nationalNumber', '85010112345', ['85010112345']],
  ['phone', '+49 151 2345670', ['2345670']],
  ['tel', 491512345678, ['491512345678']],
  ['born', '1984-03-05T07:31:00Z', ['1984-03-05']],
  ['street', 'Via Aurelia 19', ['Aurelia']],
  ['password', 'hunter2-Oe!', ['hunter2', '-Oe!']],
  [
    'payload',
    '{"password":"tr0ub4dor","of":{"user":"Xaviera Aoki"}}',
    ['tr0ub4dor', 'Xaviera', 'Aoki'],
  ],
  ['escaped', '{"note":"Xa\\u0076iera \\"Aoki\\""}', ['u0076iera', 'Xaviera', 'Aoki']],
  ['pair', { name: 'secret', value: 'p4ssw0rdo' }, ['p4ssw0rdo', ':"secret"']],
  ['pairs', [{ name: 'pin', value: 90210 }], ['90210']],
  [
    'referrer',
    '/reset?token=zoozoo77&mail=oonagh%40example.org&u=Oonagh%20Aoki',
    ['zoozoo77', 'oonagh', 'Oonagh', 'Aoki'],
  ],
  ['authorization', 'Basic ZXZlOmh1bnRlcjI=', ['ZXZl', 'Basic']],
  ['header', 'X-User: oonagh.aoki; Cookie: sid=aeaeae12', ['oonagh.aoki', 'aeaeae12']],
  ['remark', '張偉登入了系統', ['張偉']],
  ['remark_nfd', 'Jose\u0301 Nun\u0303ez', ['Jose', 'Nun']],
  ['thai', 'สมชายเข้าสู่ระบบ', ['สมชาย']],
  ['address', 'oonagh@example.org', ['oonagh@']],
  ['seen_from', '203.0.113.199, 2a00:1450::dead', ['203.0.113.199', '2a00']],
  ['Xaviera Aoki', 5, ['Xaviera', 'Aoki']],
  ['by_mail', { 'oonagh@example.org': { role: 'owner' } }, ['oonagh@']],
  ['by_ip', { '203.0.113.198': 'headquarters' }, ['203.0.113.198', 'headquarters']],
  [
    'by_id',
    { 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6': true, '4711471147': false },
    ['f81d4fae', '4711471147'],
  ],
  ['by_name', { aoki_oonagh: { n: 1 }, oe_ann: { n: 2 } }, ['aoki_oonagh', 'oe_ann']],
  ['員工', 'あおき', ['員工', 'あおき']],
  ['echo', TOKEN, encodingsOf(TOKEN)],
  ['echo_encoded', Buffer.from(`sid=${TOKEN}`).toString('base64'), encodingsOf(TOKEN)],
];

describe('the redaction of keytrail record', () => {
  it.each(samplesOf('audit'))(
    'lets nothing through that is planted in $name, and maps as before',
    async ({ response, contract }) => {
      const body = structuredClone(response.body);
      const configured = withoutLogin(contract);
      const get = async () => ({ ...response, body });
      const trail = await readTrail({ url: new URL(BASE), get }, configured, 1);
      const planted = Object.fromEntries(PLANTS.map(([key, value]) => [key, value]));
      for (const { raw } of eventsOf(trail)) Object.assign(Object(raw), planted);
      const recording = await recordFrom(() => ({ ...response, body }), configured, 1);
      expect(recording.isSame).toBe(true);
      expect(recording.holdsCredential).toBe(false);
      const read = recording.pages.flatMap(({ contract: { event } }) => JSON.stringify(event));
      const found = decodingsOf(recording);
      // With other fields beside them, some of these are read as an action or a time.
      for (const [key, , texts] of PLANTS)
        if (!read.some((one) => one.includes(`"/${key}"`)))
          for (const text of texts) expect(found.includes(text), `${key}: ${text}`).toBe(false);
    },
  );

  it('keeps no action, type or outcome that has the form of a key', async () => {
    const key = 'sk_live_4eC39HqLyjWDarjtT1zdp7dc';
    const token = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a';
    const body = [1, 2].map((number) => ({
      ...{ id: `e${number}`, at: `2026-11-2${number}T08:00:00Z`, action: `key.delete.${key}` },
      ...{ actor: { id: 'ann', type: `user:${token}` }, target: { id: key, type: token } },
      ...{ outcome: 'failure', [token]: key },
    }));
    const recording = await recordFrom(() => ({ body }));
    expect(recording.isSame).toBe(true);
    expect(decodingsOf(recording)).not.toMatch(/4eC39|16C7e42F/);
    expect(recording.kept).toEqual(['/at', '/outcome']);
  });

  it('keeps texts equal, numbers numbers and forms forms, in links and texts as well', async () => {
    const at = (day: number) => ({ at: `2026-11-2${day}T08:00:00Z`, action: 'key.create' });
    const body = [
      { ...at(1), user: 'Ann Lee', count: 4711, url: '/u/Ann%20Lee/4711?m=ann%40x.org' },
      { ...at(2), user: 'Bob', count: 815, note: 'ann@x.org by Ann Lee, 4711' },
      { ...at(3), user: '{"a":"Ann"}', count: 12.5, note: 'Ann' },
    ];
    const { bodies, kept } = await recordFrom(() => ({ body }));
    expect(bodies[0]).toEqual([
      { ...at(1), user: 'Bbb Bbc', count: 8888, url: '/b/Bbb%20Bbc/8888?c=user1%40example.com' },
      { ...at(2), user: 'Bbd', count: 888, note: 'user1@example.com bb Bbb Bbc, 8888' },
      { ...at(3), user: '{"d":"Bbb"}', count: 88.8, note: 'Bbb' },
    ]);
    expect(kept).toEqual(['/at', '/action']);
  });

  it('finds a credential in any text, as it is, percent-encoded and in base64', () => {
    const credential = fc.stringMatching(/^[!-~]{6,40}$/);
    const encode = fc.constantFrom<(text: string) => string>(
      (text) => text,
      encodeURIComponent,
      (text) => Buffer.from(text).toString('base64'),
      (text) => Buffer.from(text).toString('base64url'),
    );
    fc.assert(
      fc.property(credential, fc.string(), fc.string(), encode, (own, before, after, write) => {
        const isFound = createCredentialSearch(['', own]);
        expect(isFound(write((before + own + after).toWellFormed()))).toBe(true);
      }),
    );
    expect(createCredentialSearch(['', 'short', TOKEN])(JSON.stringify(PLANTS[0]))).toBe(false);
  });

  it('lets no text through that is planted anywhere, and keeps equal texts equal', async () => {
    const text = fc
      .tuple(
        fc.stringMatching(/^[A-Z][aeiou]{2}[a-z]{3,8}$/),
        fc.constantFrom('', ' ', '-', '.', '張偉', 'e\u0301', '\u{1f600}', '!', '0o'),
        fc.stringMatching(/^[a-z]{2}[aeiou]{2}[a-z0]{2,6}$/),
      )
      .map((parts) => parts.join(''));
    const encode = fc.constantFrom<(text: string) => string>(
      String,
      encodeURIComponent,
      (one) => JSON.stringify({ password: one }),
      (one) => `token=${encodeURIComponent(one)}&x=1`,
      (one) => `Basic ${Buffer.from(one).toString('base64')}`,
      (one) => `https://${encodeURIComponent(one)}@example.org/a?b=c`,
      (one) => `${one} logged in from 203.0.113.9`,
    );
    const plant = fc.tuple(text, encode, fc.constantFrom('value', 'key', 'pair', 'list', 'name'));
    const record = {
      ...{ id: 'e1', at: '2026-11-21T08:00:00Z', action: 'key.create', outcome: 'SUCCESS' },
      actor: { id: 'u1', name: 'Aaron' },
    };
    await fc.assert(
      fc.asyncProperty(fc.array(plant, { minLength: 1, maxLength: 5 }), async (plants) => {
        const members = plants.map(([one, encoder, where], index) => {
          if (where === 'key') return [`zz${index}`, { [`${one} ${one}`]: encoder(one) }];
          if (where === 'pair') return [`zz${index}`, { zz: one, zzz: encoder(one) }];
          return [`zz${index}`, where === 'list' ? [encoder(one), one] : encoder(one)];
        });
        const names = plants.filter(([, , where]) => where === 'name').map(([one]) => one);
        const actor = { ...record.actor, name: names[0] ?? 'Aaron' };
        const events = [{ ...record, actor, ...Object.fromEntries(members), same: names[0] }];
        const recording = await recordFrom(() => ({ body: { events, zz: plants[0]?.[0] } }));
        expect(recording.isSame).toBe(true);
        const found = decodingsOf(recording);
        for (const [one] of plants) {
          for (const word of one.match(/[A-Za-z0]{5,}/g) ?? []) expect(found).not.toContain(word);
          expect(found).not.toContain(Buffer.from(one).toString('base64').slice(0, -4));
        }
        const [{ events: recorded }] = recording.bodies;
        if (names.length > 0) expect(recorded[0].same).toBe(recorded[0].actor.name);
      }),
      { numRuns: 300 },
    );
  });

  const records = (page: number) =>
    [1, 2, 3].map((index) => ({
      ...{ id: `e${page}${index}`, at: `2026-11-2${9 - page}T08:00:0${9 - index}Z` },
      ...{ action: index === 2 ? '2' : 'Ann Lee did it', result: 'N', who: `apikey:ci-${index}` },
      ...{ day: `2${9 - page}/11/2026`, clock: `08:0${9 - index}`, seq: 4700 + 10 * page + index },
    }));
  const pageOf = (path: string) => Number(/[?&]page=c?(\d)/.exec(path)?.[1] ?? 1);
  const linkTo = (page: number) => `${BASE}/api/v1/audit?page=${page}&key=aeaeae`;

  it.each<[string, ConfiguredContract, (path: string) => Response]>([
    [
      'maps, a map that keeps others, and a split',
      {
        audit: {
          event: {
            action: { at: '/action', map: { 'Ann Lee did it': 'did', 2: 'two' } },
            outcome: { at: '/result', map: { Y: 'SUCCESS', N: 'FAILURE' } },
            actor: {
              identifier: { at: '/who', split: ':', part: 2 },
              type: { at: '/who', split: ':', part: 1, map: { apikey: 'API_KEY' }, else: 'keep' },
            },
          },
        },
      },
      () => ({ body: records(1) }),
    ],
    [
      'types that are API keys, and an identity',
      {
        audit: {
          identity: ['/id', '/seq'],
          event: { actor: { identifier: '/id', type: '/result', apiKey: ['N'] } },
        },
      },
      () => ({ body: records(1) }),
    ],
    [
      'a joined time in a zone, with a pattern',
      {
        audit: {
          event: {
            occurredAt: {
              ...{ at: ['/day', '/clock'], join: ' ', zone: 'Europe/Berlin' },
              as: { pattern: 'dd/MM/yyyy HH:mm' },
            },
          },
        },
      },
      () => ({ body: records(1).map(({ at: _, ...rest }) => rest) }),
    ],
    [
      'headers as sources',
      {
        audit: {
          total: { header: 'x-meta/all' },
          paging: {
            ...{ style: 'cursor', parameter: 'page' },
            next: { header: 'x-after' },
          },
        },
      },
      (path) => ({
        body: records(pageOf(path)),
        headers: {
          'x-meta': '{"all":9,"by":"Oonagh"}',
          ...(path.includes('=c3') ? {} : { 'x-after': path.includes('=c2') ? 'c3' : 'c2' }),
        },
      }),
    ],
    [
      'last values',
      {
        audit: { paging: { style: 'last-value', parameter: 'page', last: '/at', inclusive: true } },
      },
      (path) => ({ body: records(path.includes('-28T') ? 2 : path.includes('-27T') ? 3 : 1) }),
    ],
    [
      'last IDs that are numbers',
      { audit: { paging: { style: 'last-id', parameter: 'page' }, event: { id: '/seq' } } },
      (path) => ({ body: records(path.includes('4713') ? 2 : path.includes('4723') ? 3 : 1) }),
    ],
    [
      'a Link header',
      {},
      (path) => ({
        body: records(pageOf(path)),
        headers: {
          link: `<${linkTo(pageOf(path) + 1)}>; rel="next"; title="Oonagh", <${linkTo(9)}>; rel="last"`,
        },
      }),
    ],
    [
      'links of another host',
      { audit: { paging: { follow: 'query' } } },
      (path) => ({
        body: {
          data: records(pageOf(path)),
          next: `https://oonagh.example/x?page=${pageOf(path) + 1}`,
        },
      }),
    ],
    [
      'links with a user and a prefix',
      {},
      (path) => ({
        body: {
          data: records(pageOf(path)),
          next: linkTo(pageOf(path) + 1).replace('https://', 'https://oonagh:oe@'),
        },
      }),
    ],
    [
      'offsets',
      { audit: { paging: { parameter: 'page' } } },
      (path) => ({
        body: {
          data: records(1),
          offset: pageOf(path) === 1 ? 0 : 3 * pageOf(path) - 6,
          total: '9,000+',
        },
      }),
    ],
    [
      'page numbers, flags and a page without records',
      { audit: { paging: { parameter: 'page' } } },
      (path) => ({
        body: {
          ...{ data: pageOf(path) < 3 ? records(pageOf(path)) : [], page: pageOf(path), pages: 3 },
          ...{ has_more: pageOf(path) < 3 ? 'Y' : 'N', error: 'none', tenant: 85010112345 },
        },
      }),
    ],
    [
      'records by ID, of which one is missing',
      {},
      () => ({
        body: {
          events: Object.fromEntries(records(1).map(({ seq, ...rest }) => [`${seq}0815`, rest])),
          total: 5,
          message: 'No records found',
          requested_by: 'Oonagh',
        },
      }),
    ],
  ])('records what a contract needs: %s', async (_, configured, respond) => {
    const recording = await recordFrom(respond, configured);
    expect(recording.isSame).toBe(true);
    const found = decodingsOf(recording);
    for (const text of ['Oonagh', 'oonagh', 'ci-1', 'aeaeae', '85010112345', '47130815'])
      expect(found).not.toContain(text);
    expect(found.includes('Ann Lee')).toBe(configured.audit?.event?.action !== undefined);
  });

  it('reads the action of texts for people, and a target by its name, as data', async () => {
    const body = ['Oonagh', 'Aaron'].map((name) => ({
      ...{ at: '2026-11-21T08:00:00Z', name, target: name, actor_type: 'Service Account' },
      ...{ ua: 'curl/8.5.0 (sn 85010112345)' },
    }));
    const { bodies, isSame, kept } = await recordFrom(() => ({ body }));
    expect(isSame).toBe(true);
    expect(bodies[0][0]).toEqual({
      ...{ at: '2026-11-21T08:00:00Z', name: 'Bbbbbb', target: 'Bbbbbb' },
      ...{ actor_type: 'Service Account', ua: 'bbbb/8.8.8 (bb 88888888888)' },
    });
    expect(kept).toEqual(['/at', '/actor_type']);
  });
});
