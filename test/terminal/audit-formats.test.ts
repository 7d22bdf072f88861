import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { EcsFlat, EcsVersion } from '@elastic/ecs';
import fc from 'fast-check';
import Papa from 'papaparse';
import stringWidth from 'string-width';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EVENT_ENTRIES } from '../../src/gateway/inference/event-entries.ts';
import { AUDIT_EVENT } from '../../src/gateway/mapping/event-fields.ts';
import { EVENT_FIELD_NAMES, type KeyedEvent, readField } from '../../src/terminal/event-fields.ts';
import { createFormat, type FormatOptions } from '../../src/terminal/format-events.ts';
import type { Output } from '../../src/terminal/output.ts';
import { keytrailInProcess, startInTerminal, startKeytrail } from '../helpers/process.ts';
import { createFolder } from '../helpers/recording.ts';
import { type Service, startService } from '../helpers/service.ts';

const FIXTURES = new URL('../fixtures/terminal/', import.meta.url);
/** Records with nulls, wide and control characters, formulas, quotes, long texts, and two that are equal. */
const TRAIL = readFileSync(new URL('trail.json', FIXTURES), 'utf8');
const RECORDS = JSON.parse(TRAIL).events.length;

const golden = (name: string) => fileURLToPath(new URL(name, FIXTURES));

let service: Service;
let environment: Readonly<Record<string, string>> = {};
beforeAll(async () => {
  service = await startService({ body: TRAIL });
  environment = {
    UPSTREAM_URL: service.url,
    KEYTRAIL_TOKEN: 't',
    KEYTRAIL_CONTRACT: golden('contract.json'),
  };
});
afterAll(() => service[Symbol.asyncDispose]());

/** What `keytrail audit` prints. */
async function audit(args: readonly string[], terminal: Partial<Output> = {}): Promise<string> {
  await using process = keytrailInProcess(['audit', ...args], environment, '', terminal);
  expect(await process.status).toBe(0);
  return process.output.stdout;
}

/** The events as ndjson has them. */
async function readEvents(): Promise<readonly KeyedEvent[]> {
  const lines = (await audit(['--output', 'ndjson', '--raw'])).split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line));
}

const TERMINAL = { isTerminal: true } as const;
const OUTPUTS: readonly (readonly [file: string, args: readonly string[], Partial<Output>])[] = [
  ['table-40.txt', [], { ...TERMINAL, columns: 40 }],
  ['table-80.txt', [], { ...TERMINAL, columns: 80 }],
  ['table-100.txt', [], { ...TERMINAL, columns: 100 }],
  ['table-120.txt', [], { ...TERMINAL, columns: 120 }],
  ['table-80-colors.txt', [], { ...TERMINAL, columns: 80, hasColors: true }],
  [
    'table-80-fields.txt',
    ['--fields', 'key,time,action,userAgent,raw'],
    { ...TERMINAL, columns: 80 },
  ],
  ['events.ndjson', [], {}],
  ['events-raw.ndjson', ['--output', 'ndjson', '--raw'], {}],
  ['events-fields.ndjson', ['--output', 'ndjson', '--fields', 'time,actor,target.name,raw'], {}],
  ['events.csv', ['--output', 'csv'], {}],
  ['events-fields.csv', ['--output', 'csv', '--fields', 'time,actor', '--raw'], {}],
  ['events-ecs.ndjson', ['--output', 'ecs'], {}],
  ['events-ecs-raw.ndjson', ['--output', 'ecs', '--raw'], {}],
  ['events-ocsf.ndjson', ['--output', 'ocsf'], {}],
  ['events-ocsf-raw.ndjson', ['--output', 'ocsf', '--raw'], {}],
];

describe('keytrail audit prints', () => {
  it.each(OUTPUTS)('%s for %j', async (file, args, terminal) => {
    await expect(await audit(args, terminal)).toMatchFileSnapshot(golden(file));
  });

  it('the same over a gateway as over the service', async () => {
    await using gateway = keytrailInProcess(['--port', '0'], environment);
    const [, url = ''] = await gateway.until(/GraphQL +(http:\S+)\/graphql/);
    for (const [, args, terminal] of OUTPUTS) {
      const over = ['audit', ...args, '--gateway', url];
      const own = { KEYTRAIL_TOKEN: 't' };
      await using process = keytrailInProcess(over, own, '', terminal);
      expect(await process.status).toBe(0);
      expect(process.output.stdout).toBe(await audit(args, terminal));
    }
  });

  it.each([
    ['table-80-colors.txt', {}],
    ['table-80.txt', { NO_COLOR: '1' }],
  ])('%s in a terminal of 80 columns with %j', async (file, more) => {
    await using process = startInTerminal({ ...environment, ...more }, ['audit'], 80);
    expect(await process.status).toBe(0);
    const lines = process.output.stdout.split('\r\n').slice(0, RECORDS + 1); // without the hints of stderr
    expect(`${lines.join('\n')}\n`).toBe(readFileSync(golden(file), 'utf8'));
  });

  it('100 columns in a terminal whose size is not known', async () => {
    await using process = startInTerminal({ ...environment, NO_COLOR: '1' }, ['audit'], 0);
    expect(await process.status).toBe(0);
    expect(process.output.stdout.replaceAll('\r\n', '\n')).toContain(
      readFileSync(golden('table-100.txt'), 'utf8'),
    );
  });

  it.each([
    ['table-local-kolkata.txt', 'Asia/Kolkata'],
    ['table-local-st-johns.txt', 'America/St_Johns'],
  ])('%s with --local in %s', async (file, TZ) => {
    const args = ['audit', '--output', 'table', '--local'];
    await using process = startKeytrail(args, { ...environment, TZ });
    expect(await process.status).toBe(0);
    await expect(process.output.stdout).toMatchFileSnapshot(golden(file));
  });

  it('no control character to a terminal, in any format', async () => {
    for (const output of ['table', 'ndjson', 'csv', 'ecs', 'ocsf']) {
      const text = await audit(['--output', output, '--raw'], { ...TERMINAL, columns: 400 });
      expect(text.replaceAll(/\r?\n/g, '')).not.toMatch(
        /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u,
      );
      expect(text).toContain(String.raw`\u001b`);
    }
  });

  it.each<[string, readonly object[], readonly string[], string | null]>([
    [
      'an actor with a type only, and no target',
      [
        {
          id: 1,
          time: '2026-11-21T08:00:00Z',
          action: 'a',
          actor: { type: 'service' },
          ip: '10.0.0.1',
        },
      ],
      ['--fields', 'time,actor,target,action'],
      'No event has a value for actor, target: keytrail audit --explain shows why.',
    ],
    [
      'a value in one row',
      [
        { id: 2, time: '2026-11-21T08:00:00Z', action: 'a', actor: 'ann' },
        { id: 1, time: '2026-11-21T08:00:00Z', action: 'a', actor: null },
      ],
      ['--fields', 'time,actor,action'],
      null,
    ],
    [
      'a field that cannot be read, which is told already',
      [{ id: 1, time: '2026-11-21T08:00:00Z', action: 'a' }],
      ['--fields', 'time,actor,action'],
      null,
    ],
  ])('to a terminal which columns are empty, with %s', async (_, body, args, line) => {
    await using service = await startService({ body });
    const settings = { UPSTREAM_URL: service.url, KEYTRAIL_TOKEN: 'a' };
    await using process = startInTerminal(settings, ['audit', ...args]);
    expect(await process.status).toBe(0);
    const { stdout } = process.output;
    if (line === null) expect(stdout).not.toContain('No event has');
    else expect(stdout.split('\r\n')).toContain(line);
    await using piped = startKeytrail(['audit', '--output', 'table', ...args], settings);
    expect(await piped.status).toBe(0);
    expect(piped.output.stderr).toBe('');
  });

  it('that there are no events to a terminal', async () => {
    await using process = startInTerminal(environment, ['audit', '--actor', 'nobody']);
    expect(await process.status).toBe(0);
    expect(process.output.stdout).toBe('No events.\r\n');
  });

  it('to a terminal, when an export has nothing new, that there is nothing new', async () => {
    await using folder = await createFolder();
    const args = ['audit', '--checkpoint', folder.pathOf('checkpoint.json')];
    for (const last of [/\r\n$/, /^No new events\.\r\n$/]) {
      await using process = startInTerminal(environment, args);
      expect(await process.status).toBe(0);
      expect(process.output.stdout).toMatch(last);
    }
  });

  it('in a pipe that no event matches a filter, and nothing of the runs of an export after the first', async () => {
    await using folder = await createFolder();
    const none = 'keytrail audit: No event matches the filter.\n';
    const checkpoint = `--checkpoint ${folder.pathOf('checkpoint.json')} --actor nobody`;
    for (const [options, expected] of [
      ['--actor nobody', none],
      ['--target nobody --limit 5', none],
      ['--action none --output csv', none],
      ['--since 2999-01-01', none],
      ['--until 1970-01-01', none],
      ['', ''],
      ['--outcome success', ''],
      [checkpoint, none],
      [checkpoint, ''],
    ] as const) {
      const args = ['audit', ...options.split(' ').filter(Boolean)];
      await using command = keytrailInProcess(args, environment);
      expect([options, await command.status]).toEqual([options, 0]);
      expect([options, command.output.stderr]).toEqual([options, expected]);
    }
  });

  it('on a terminal nothing of the trail after a page that failed, and how much was written', async () => {
    const data = Array.from({ length: 1000 }, (_, id) => ({
      ...{ id, time: '2026-11-21T08:00:00Z', action: 'a' },
    }));
    await using service = await startService(({ url }) =>
      url.includes('page=2') ? { status: 400 } : { body: { data, next: '/api/v1/audit?page=2' } },
    );
    const settings = { UPSTREAM_URL: service.url, KEYTRAIL_TOKEN: 'a' };
    for (const options of [[], ['--fields', 'time,userAgent']]) {
      await using process = startInTerminal(settings, ['audit', '--limit', 'all', ...options]);
      expect(await process.status).toBe(1);
      expect(process.output.stdout.replaceAll(/\r?\n +/g, ' ')).toContain(
        '1,000 events were written.',
      );
      expect(process.output.stdout).not.toMatch(/No event|cannot be read in/);
    }
  });
});

describe('the table', () => {
  it('has the same fields on every page, and becomes wider where texts are longer', async () => {
    const [short, , , , , , , , , long] = await readEvents();
    if (short === undefined || long === undefined) throw new Error('the trail has ten events');
    const { format } = await formatOf({}, { columns: 90 });
    const [first = '', second = ''] = [format([short]), format([long])];
    expect(first).toMatch(/ IPADDRESS\n.* 203\.0\.113\.40\n$/);
    expect(second).toMatch(/^.{80,90}\n$/);
    expect(second).toMatch(/ 192\.0\.2\.9\n$/);
  });
});

describe('a table with emoji and Persian words', () => {
  it.each([40, 80, 200])(
    'shows their joiners, in columns that are aligned in %i',
    async (columns) => {
      const texts = ['👨\u200d👩\u200d👧 x', 'می\u200cخواهم', 'ad\u200dmin', 'plain'];
      const { format } = await formatOf({ fields: ['action', 'userAgent'] }, { columns });
      const page = texts.map((action): KeyedEvent => ({ ...NOTHING, action, userAgent: 'end' }));
      const lines = format(page).split('\n').slice(1, -1);
      expect(lines.map((line) => line.split(/ {2,}/)[0])).toEqual([
        ...texts.slice(0, 2),
        ...['ad\\u200dmin', 'plain'],
      ]);
      expect(lines.map((line) => stringWidth(line.replace('end', '')))).toEqual([13, 13, 13, 13]);
    },
  );

  it('cuts a long text between characters', async () => {
    const { format } = await formatOf({ fields: ['action'] }, { columns: 25 });
    const [, line = ''] = format([{ ...NOTHING, action: '👨\u200d👩'.repeat(50) }]).split('\n');
    expect(line).toMatch(/^(?:👨\u200d👩)+.?…$/u);
    expect(stringWidth(line)).toBeLessThanOrEqual(25);
  });
});

describe('ndjson', () => {
  it.each([['--output', 'json'], ['-o', 'json'], ['-ojson']])('is also %j %j', async (...args) => {
    const more = ['--raw', '--fields', 'time,raw'];
    expect(await audit([...args, ...more])).toBe(await audit(['--output', 'ndjson', ...more]));
  });

  it('has the records of the service, with every digit of a long integer', async () => {
    const events = await readEvents();
    const digits = TRAIL.replace(/\b\d{16,}\b/g, '"$&"');
    expect(events.map(({ raw }) => raw)).toEqual(JSON.parse(digits).events);
    expect(events[0]?.raw).toMatchObject({ seq: '9007199254740993' });
  });

  it('has a key for each event, and counts equal records', async () => {
    const keys = (await readEvents()).map(({ key }) => key);
    expect(new Set(keys).size).toBe(RECORDS);
    expect(keys.at(-1)).toBe(`${keys.at(-2)}.2`);
  });
});

describe('csv', () => {
  it('is read back by another parser, with CRLF and a prefix for formulas', async () => {
    const text = await audit(['--output', 'csv', '--fields', EVENT_FIELD_NAMES.join()]);
    const { data, errors, meta } = Papa.parse<readonly string[]>(text.replace(/\r\n$/, ''));
    expect({ errors, linebreak: meta.linebreak }).toEqual({ errors: [], linebreak: '\r\n' });
    const texts = (await readEvents()).map((event) =>
      EVENT_FIELD_NAMES.map((name) => toText(readField(event, name))),
    );
    const [names, ...rows] = data;
    expect(names).toEqual(EVENT_FIELD_NAMES);
    expect(
      rows.map((row, line) =>
        row.map((cell, index) => withoutAdded(cell, texts[line]?.[index] ?? '')),
      ),
    ).toEqual(texts);
  });

  it.each([
    ['=1', "'=1"],
    ['+1', "'+1"],
    ['-1', "'-1"],
    ['@a', "'@a"],
    ['\uff1d1', "'\uff1d1"],
    ['\ttab', "'\ttab"],
    ['\rreturn', "'\rreturn"],
    ['  =1', "'  =1"],
    ['\u00a0\ufeff=1', "'\u00a0\ufeff=1"],
    ['a\n=1', "a\n'=1"],
    ['a\r\n =1', "a\r\n' =1"],
    ['a;=1', "a;'=1"],
    ['a;"=1', 'a;\'"=1'],
    ['a\t@b', "a\t'@b"],
    ['a\u2028-1', "a\u2028'-1"],
    [
      'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
      "Mozilla/5.0 (compatible; Googlebot/2.1;' +http://www.google.com/bot.html)",
    ],
    ['a-b=c@example.com, +1', 'a-b=c@example.com, +1'],
    ['a\r\nb;c\td', 'a\r\nb;c\td'],
  ])('has %j as %j, in quotes', async (userAgent, cell) => {
    const { format } = await formatOf({ output: 'csv', fields: ['userAgent', 'action'] });
    const csv = format([{ ...NOTHING, userAgent }]);
    expect(csv).toBe(`"${cell.replaceAll('"', '""')}",\r\n`);
  });

  it('has an empty text in quotes, and no quotes without a value', async () => {
    const { header, format } = await formatOf({ output: 'csv', fields: ['id', 'userAgent'] });
    expect(header + format([{ ...NOTHING, id: '' }])).toBe('"id","userAgent"\r\n"",\r\n');
  });
});

describe('an event', () => {
  it.each(['ndjson', 'csv', 'ecs', 'ocsf'] as const)('has every field in %s', async (output) => {
    const event = Object.assign({ ...NOTHING }, toMembers(AUDIT_EVENT));
    const { format } = await formatOf({ output, fields: undefined });
    const text = format([event]);
    for (const { name } of EVENT_ENTRIES)
      expect(text.toUpperCase()).toContain(markOf(name).toUpperCase());
  });
});

/** The value of a field: no other contains it. */
const markOf = (name: string) => (name === 'outcome' ? 'FAILURE' : `value-${name}-end`);

/** The members of a table of fields, each with its mark. */
function toMembers(table: object, before = ''): object {
  const members = Object.entries(table).map(([key, row]) => [
    key,
    'entries' in row ? toMembers(row.entries, `${key}.`) : markOf(before + key),
  ]);
  return Object.fromEntries(members);
}

/** An event that has nothing but its key. */
const NOTHING: KeyedEvent = {
  ...{ key: 'k', id: null, occurredAt: null, action: null, outcome: null, ipAddress: null },
  ...{ userAgent: null, actor: null, target: null },
};

/** Every control character, every separator of lines and of cells, and what begins a formula: at each end, and between. */
const STRANGE = [
  ...Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).filter((character) =>
    /\p{Cc}/u.test(character),
  ),
  ...['\r\n', '\u2028', '\u2029', '\u00a0', '\ufeff', ',', ';', '|', '"', "'", '=', '+', '-', '@'],
  ...['\uff1d', '\uff0b', '\uff0d', '\uff20', '\u202e', '\u200b'],
].map((character) => `${character}a${character}=b${character}${character}-c${character}`);

describe('a record with every control character and separator', () => {
  let strange: Service;
  beforeAll(async () => {
    const events = STRANGE.map((text) => {
      const party = { id: text, name: text, kind: text };
      const when = { at: '2026-11-24T06:20:33Z', ok: true };
      return { ...when, what: text, actor: party, target: party, agent: text, id: text };
    });
    strange = await startService({ body: { events } });
  });
  afterAll(() => strange[Symbol.asyncDispose]());

  const FIELDS = ['action', 'actor.identifier', 'target.name', 'userAgent', 'id'];
  const auditOf = async (args: string, terminal: Partial<Output> = {}) => {
    const settings = { ...environment, UPSTREAM_URL: strange.url };
    const line = ['audit', '--limit', 'all', ...args.split(' ')];
    await using process = keytrailInProcess(line, settings, '', terminal);
    expect(await process.status).toBe(0);
    return process.output.stdout;
  };
  const linesOf = (text: string) => text.split('\n').slice(0, -1);

  it('is the same in ndjson, in ecs and in ocsf', async () => {
    const events = linesOf(await auditOf('--output ndjson')).map((line) => JSON.parse(line));
    expect(events.map(({ action }) => action)).toEqual(STRANGE);
    expect(events.map(({ target }) => target.name)).toEqual(STRANGE);
    expect(events.map(({ userAgent }) => userAgent)).toEqual(STRANGE);
    const ecs = linesOf(await auditOf('--output ecs')).map((line) => JSON.parse(line));
    expect(ecs.map(({ event }) => event.action)).toEqual(STRANGE);
    expect(ecs.map(({ keytrail }) => keytrail.target.name)).toEqual(STRANGE);
    expect(ecs.map((each) => each.user_agent.original)).toEqual(STRANGE);
    const ocsf = linesOf(await auditOf('--output ocsf')).map((line) => JSON.parse(line));
    expect(ocsf.map(({ api }) => api.operation)).toEqual(STRANGE);
    expect(ocsf.map(({ resources }) => resources[0].name)).toEqual(STRANGE);
    expect(ocsf.map((each) => each.http_request.user_agent)).toEqual(STRANGE);
  });

  it("is a row of csv, and the same but for each ' before a formula", async () => {
    const csv = await auditOf(`--output csv --fields ${FIELDS}`);
    const { data, errors } = Papa.parse<string[]>(csv, {
      ...{ newline: '\r\n', delimiter: ',', quoteChar: '"' },
    });
    expect(errors).toEqual([]);
    const [names, ...rows] = data.slice(0, -1); // after the last line break
    expect(names).toEqual(FIELDS);
    expect(
      rows.map((row, line) => row.map((cell) => withoutAdded(cell, STRANGE[line] ?? ''))),
    ).toEqual(STRANGE.map((text) => FIELDS.map(() => text)));
    expect(readElsewhere(csv).filter((cell) => RUNS.test(cell))).toEqual([]);
  });

  it('is one line of a table, without a control character', async () => {
    for (const terminal of [{}, { ...TERMINAL, columns: 60 }]) {
      const table = await auditOf(`--output table --fields ${FIELDS}`, terminal);
      const lines = linesOf(table);
      expect(lines).toHaveLength(1 + STRANGE.length);
      for (const line of lines) expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }
  });
});

describe('ecs', () => {
  it('has only fields of the Elastic Common Schema, with their types and values, and keytrail.*', async () => {
    const text = await audit(['--output', 'ecs', '--raw']);
    const events = text
      .split('\n')
      .slice(0, -1)
      .map((line) => flatten(JSON.parse(line)));
    const published: Readonly<Record<string, EcsField | undefined>> = EcsFlat;
    const names = new Set(events.flatMap((event) => Object.keys(event)));
    for (const event of events) {
      const version = event['ecs.version'] ?? '';
      expect(version.localeCompare(EcsVersion, 'en', { numeric: true }), version).not.toBe(1);
      for (const [name, value] of Object.entries(event)) {
        if (name.startsWith('keytrail.')) continue;
        const { type, allowed_values: allowed = [] } = published[name] ?? {};
        expect(TYPES[type ?? '']?.(value), `${name} is ${type}: ${value}`).toBe(true);
        if (allowed.length > 0) expect(allowed.map((each) => each.name)).toContain(value);
      }
    }
    expect([...names].sort()).toEqual([
      ...['@timestamp', 'ecs.version', 'event.action', 'event.hash', 'event.id', 'event.kind'],
      ...['event.original', 'event.outcome', 'keytrail.actor.type', 'keytrail.target.id'],
      ...['keytrail.target.name', 'keytrail.target.type', 'source.address', 'source.ip'],
      ...['user.id', 'user.name', 'user_agent.original'],
    ]);
  });

  it('has source.ip only for an IP address, which Elasticsearch requires', async () => {
    const text = await audit(['--output', 'ecs']);
    const sources = text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line).source);
    expect(sources).toContainEqual({ address: '203.0.113.9:51234' });
    expect(sources).toContainEqual({ address: '203.0.113.40', ip: '203.0.113.40' });
  });
});

describe('ocsf', () => {
  it('is API Activity with the activity Other, and has only its attributes, with their types', async () => {
    const text = await audit(['--output', 'ocsf', '--raw']);
    const events = text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
    for (const event of events) {
      expect(event).toMatchObject({
        ...{ category_uid: 6, class_uid: 6003, activity_id: 99, severity_id: 0 },
        type_uid: event.class_uid * 100 + event.activity_id,
        metadata: { version: '1.6.0', product: { name: 'Keytrail' }, uid: expect.any(String) },
      });
      expect(event.activity_name).toBe(event.api?.operation);
      for (const [name, value] of Object.entries(flatten(event)))
        expect(OCSF[name]?.(value), `${name}: ${value}`).toBe(true);
    }
    const names = new Set(events.flatMap((event) => Object.keys(flatten(event))));
    expect([...names].sort()).toEqual(Object.keys(OCSF).sort());
  });

  it('has the values of the event', async () => {
    const { format } = await formatOf({ output: 'ocsf' });
    const event: KeyedEvent = {
      ...{ key: 'k', id: 'i', occurredAt: '2026-11-24T06:20:33.1569Z', action: 'key.delete' },
      ...{ outcome: 'FAILURE', ipAddress: '::1', userAgent: 'curl' },
      actor: { identifier: 'a', name: 'Ann', type: 'user' },
      target: { identifier: 't', name: null, type: null },
    };
    expect(JSON.parse(format([event]))).toEqual({
      ...{ category_uid: 6, class_uid: 6003, activity_id: 99, activity_name: 'key.delete' },
      ...{ type_uid: 600399, severity_id: 0, time: Date.UTC(2026, 10, 24, 6, 20, 33, 156) },
      ...{ status_id: 2, status: 'Failure' },
      actor: { user: { uid: 'a', name: 'Ann', type: 'user', type_id: 99 } },
      api: { operation: 'key.delete' },
      src_endpoint: { ip: '::1' },
      http_request: { user_agent: 'curl' },
      resources: [{ uid: 't' }],
      metadata: {
        ...{ version: '1.6.0', product: { name: 'Keytrail', vendor_name: 'Keytrail' } },
        ...{ uid: 'k', original_event_uid: 'i', original_time: '2026-11-24T06:20:33.1569Z' },
      },
    });
    expect(JSON.parse(format([NOTHING]))).toEqual({
      ...{ category_uid: 6, class_uid: 6003, activity_id: 99, type_uid: 600399, severity_id: 0 },
      metadata: {
        ...{ version: '1.6.0', product: { name: 'Keytrail', vendor_name: 'Keytrail' }, uid: 'k' },
      },
    });
  });
});

const isText = (value: unknown) => typeof value === 'string' && value !== '';

/** Attributes of the class API Activity of OCSF 1.6, and what their types accept. */
const OCSF: Readonly<Record<string, (value: unknown) => boolean>> = {
  ...{ category_uid: (value) => value === 6, class_uid: (value) => value === 6003 },
  ...{ activity_id: (value) => value === 99, activity_name: isText, type_uid: Number.isInteger },
  ...{ severity_id: Number.isInteger, time: Number.isInteger, raw_data: isText },
  ...{ status_id: (value) => value === 1 || value === 2, status: isText, 'api.operation': isText },
  ...{ 'actor.user.uid': isText, 'actor.user.name': isText, 'actor.user.type': isText },
  ...{ 'actor.user.type_id': (value) => value === 99, 'src_endpoint.name': isText },
  'src_endpoint.ip': (value) => isIP(String(value)) > 0,
  ...{ 'http_request.user_agent': isText, 'resources.0.uid': isText, 'resources.0.name': isText },
  ...{ 'resources.0.type': isText, 'metadata.version': isText, 'metadata.uid': isText },
  ...{ 'metadata.product.name': isText, 'metadata.product.vendor_name': isText },
  ...{ 'metadata.original_event_uid': isText, 'metadata.original_time': isText },
};

type EcsField = { readonly type: string; readonly allowed_values?: readonly { name: string }[] };

const TYPES: Readonly<Record<string, (value: string) => boolean>> = {
  keyword: (value) => typeof value === 'string',
  date: (value) => new Date(value).toISOString() === value,
  ip: (value) => isIP(value) > 0,
};

/** The leaves of an event, by their names with dots. */
function flatten(value: object, before = ''): Readonly<Record<string, string>> {
  return Object.assign(
    {},
    ...Object.entries(value).map(([name, each]) =>
      typeof each === 'object' ? flatten(each, `${before}${name}.`) : { [before + name]: each },
    ),
  );
}

/** A value in a cell of csv, but for the `'` that disarms formulas. */
const toText = (value: unknown): string =>
  typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value);

/** A cell without each `'` that its text does not have. Where anything else differs, the rest of the cell. */
function withoutAdded(cell: string, text: string): string {
  let own = '';
  for (const character of cell) {
    if (text.startsWith(character, own.length)) own += character;
    else if (character !== "'") return cell.slice(own.length);
  }
  return own;
}

/** What spreadsheets run if a cell begins with it: also behind quotes, space, and what is not visible. */
const RUNS = /^["\s\p{Cc}\p{Cf}]*[=+\-@\uff1d\uff0b\uff0d\uff20]/u;

/** The cells of csv for readers that split it elsewhere: at `;` and tabs, with quotes and without. */
function readElsewhere(csv: string): readonly string[] {
  const parsed = [';', '\t'].flatMap((delimiter) =>
    (['\r\n', '\n', '\r'] as const).flatMap((newline) =>
      Papa.parse<string[]>(csv, { delimiter, newline, quoteChar: '"' }).data.flat(),
    ),
  );
  return [
    ...parsed,
    ...Papa.parse<string[]>(csv, { newline: '\r\n', delimiter: ',' }).data.flat(),
    ...csv.split(/[\r\n\t;]/),
    ...csv.split(/[\p{Cc}\p{Zl}\p{Zp};]/u),
  ];
}

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.constantFrom('=1+1', '-2', '\t', '日本語', '"', '\r\n', '\u202e', 'e\u0301', '\ud800'),
  fc
    .array(fc.constantFrom(...'=+-@\uff1d\'";,|\t\r\n\v\f\0 \u00a0\ufeff\u0085\u2028\u2029a'))
    .map((characters) => characters.join('')),
);
const textOrNull = fc.option(text);
const party = fc.option(fc.record({ identifier: textOrNull, name: textOrNull, type: textOrNull }));
const events: fc.Arbitrary<readonly KeyedEvent[]> = fc.array(
  fc.record({
    key: fc.base64String(),
    id: textOrNull,
    occurredAt: fc.option(
      fc
        .date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true })
        .map((date) => date.toISOString()),
    ),
    action: textOrNull,
    outcome: fc.option(fc.constantFrom('SUCCESS' as const, 'FAILURE' as const)),
    ipAddress: textOrNull,
    userAgent: textOrNull,
    actor: party,
    target: party,
    raw: fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value))), // without -0
  }),
  { maxLength: 5 },
);
const fields = fc.option(fc.subarray([...EVENT_FIELD_NAMES], { minLength: 1 }), { nil: undefined });

function formatOf(options: Partial<FormatOptions>, terminal: Partial<Output> = {}) {
  return createFormat(
    { output: 'table', fields: undefined, withRaw: false, isLocal: false, ...options },
    {
      write: async () => {},
      ...{ isTerminal: false, columns: 100, hasColors: false, before: 'nothing', ...terminal },
    },
  );
}

describe('for any events', () => {
  it('the table has a line for each, of no more columns than the terminal, without control characters', async () => {
    await fc.assert(
      fc.asyncProperty(
        ...([
          fc.array(events, { maxLength: 3 }),
          fields,
          fc.integer({ min: 1, max: 200 }),
        ] as const),
        fc.record({ hasColors: fc.boolean(), isLocal: fc.boolean() }),
        async (pages, fields, columns, { hasColors, isLocal }) => {
          const format = await formatOf({ fields, isLocal }, { columns, hasColors });
          const printed = pages.map((page) => format.format(page)).join('');
          const lines = stripVTControlCharacters(printed).split('\n');
          expect(lines.pop()).toBe('');
          expect(lines).toHaveLength(pages.length === 0 ? 0 : 1 + pages.flat().length);
          for (const line of lines) {
            expect(stringWidth(line)).toBeLessThanOrEqual(columns);
            expect(line).not.toMatch(/(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
          }
        },
      ),
    );
  });

  it('csv is read back by another parser', async () => {
    await fc.assert(
      fc.asyncProperty(events, fields, fc.boolean(), async (page, own, withRaw) => {
        const { header, format } = await formatOf({ output: 'csv', fields: own, withRaw });
        const { data, errors } = Papa.parse<string[]>(header + format(page), {
          ...{ newline: '\r\n', delimiter: ',', quoteChar: '"', skipEmptyLines: false },
        });
        expect(errors).toEqual([]);
        const [names = [], ...rows] = data.slice(0, -1); // after the last line break
        const texts = page.map((event) => names.map((name) => toText(readField(event, name))));
        expect(
          rows.map((row, line) =>
            row.map((cell, index) => withoutAdded(cell, texts[line]?.[index] ?? '')),
          ),
        ).toEqual(texts);
        if (own !== undefined) expect(names.slice(0, own.length)).toEqual(own);
        expect(names.includes('raw')).toBe(withRaw || (own?.includes('raw') ?? false));
      }),
    );
  });

  it('csv has no formula, wherever a reader splits it', async () => {
    await fc.assert(
      fc.asyncProperty(events, fields, async (page, own) => {
        const { header, format } = await formatOf({ output: 'csv', fields: own });
        const cells = readElsewhere(header + format(page));
        expect(cells.filter((cell) => RUNS.test(cell))).toEqual([]);
      }),
    );
  });

  it('ndjson, ecs and ocsf have a line for each, and lose nothing', async () => {
    await fc.assert(
      fc.asyncProperty(
        events,
        fc.constantFrom('ndjson' as const, 'ecs' as const, 'ocsf' as const),
        async (page, output) => {
          const printed = (await formatOf({ output, withRaw: true })).format(page);
          expect(printed).not.toMatch(/[\u0085\u2028\u2029\r]/); // line breaks for some readers
          const lines = printed.split('\n');
          expect(lines.pop()).toBe('');
          const values = lines.map((line) => JSON.parse(line));
          expect(
            values.map((value) => value.key ?? value.event?.hash ?? value.metadata.uid),
          ).toEqual(page.map(({ key }) => key));
          if (output === 'ndjson') expect(values).toEqual(page);
          else
            expect(
              values.map((value) => JSON.parse(value.event?.original ?? value.raw_data)),
            ).toEqual(page.map(({ raw }) => raw));
        },
      ),
    );
  });
});
