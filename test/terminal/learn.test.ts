import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GatewayError } from '../../src/errors.ts';
import { parseContract } from '../../src/gateway/config/contract-schema.ts';
import { completeAudit } from '../../src/gateway/inference/complete-contract.ts';
import type { ConfiguredContract } from '../../src/gateway/mapping/contract.ts';
import { readAuditPage } from '../../src/gateway/mapping/event.ts';
import { memberAt } from '../../src/gateway/mapping/read-entry.ts';
import { FIELDS, learnContract, withoutDefaults } from '../../src/terminal/learn/learn-contract.ts';
import { formatReport } from '../../src/terminal/learn/report.ts';
import type { UpstreamResponse } from '../../src/util/upstream-response.ts';
import { ask, gatewayOver } from '../helpers/gateway.ts';
import { keytrailInProcess, startKeytrail } from '../helpers/process.ts';
import { startService } from '../helpers/service.ts';
import { samplesOf } from '../shapes/shapes.ts';

/** Any JSON, with keys and values that inference recognises. */
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.jsonValue({ maxDepth: 0 }),
    fc.constantFrom('2026-01-01T00:00:00Z', 1_700_000_000, '/next?a=b', '2015-07-17 09:51:51'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(
      fc.constantFrom(
        ...['id', 'time', 'action', 'actor', 'user', 'name', 'type', 'a/b', '~', ''],
        ...['data', 'items', 'events', 'next', 'total', 'page', 'token', 'access_token'],
      ),
      tie('value'),
      { maxKeys: 5 },
    ),
  ),
})).value;

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keytrail-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function save(name: string, body: unknown): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, typeof body === 'string' ? body : JSON.stringify(body));
  return file;
}

/** A trail with unusual names. */
const ROWS = [
  { Nr: 8, When: '20.11.2026 16:07', Who: 'ann@example.com', Verb: 'key.delete', On: 'staging' },
  { Nr: 7, When: '20.11.2026 16:05', Who: 'ann@example.com', Verb: 'login', On: 'portal' },
].map((row) => ({ ...row, From: '203.0.113.9', Note: 'manual' }));

/** The contracts of a report, each at the start of a line. */
function readyLines(report: string) {
  return [...report.matchAll(/^ {4}(\{".*?\})(?: {2}.*)?$/gm)].map(([, json = '']) =>
    JSON.parse(json),
  );
}

function readAll(body: unknown, contract: ConfiguredContract): unknown {
  try {
    const response = { status: 200, headers: {}, body };
    const trail = readAuditPage(completeAudit(response, contract), response);
    const { length, total, next } = trail;
    const events = Array.from({ length }, (_, index) => trail.item(index));
    return [total(), next(), events.map((event) => FIELDS.map((field) => event[field]))];
  } catch (error) {
    if (error instanceof GatewayError) return error.extensions;
    throw error;
  }
}

function reload(contract: ConfiguredContract): ConfiguredContract {
  const parsed = parseContract(JSON.stringify(contract));
  if ('problems' in parsed) throw new Error(parsed.problems.join());
  return parsed.contract;
}

function learnFrom(...bodies: readonly unknown[]): ConfiguredContract {
  const responses = bodies.map((body): UpstreamResponse => ({ status: 200, headers: {}, body }));
  return reload(withoutDefaults(learnContract(responses).contract, responses));
}

describe('keytrail learn', () => {
  it.each(samplesOf('audit'))(
    'prints a contract that maps $name as it is mapped without one',
    ({ response }) => {
      const { body } = response;
      expect(readAll(body, learnFrom(body))).toEqual(readAll(body, {}));
    },
  );

  it('prints such a contract for any JSON', () => {
    fc.assert(
      fc.property(json, (body) => {
        expect(readAll(body, learnFrom(body))).toEqual(readAll(body, {}));
      }),
      { numRuns: 1000 },
    );
  });

  it('suggests only lines that are valid contracts and read a value that was null, for any JSON', () => {
    const names = [
      'Nr',
      'when',
      'on',
      'did',
      'changed_by',
      'failed',
      'ua',
      'order_id',
      'order_name',
    ];
    const values = ['20.11.2026 16:07', 'ann@example.com', 'created', 'ok', true, 7, 'Mozilla/5.0'];
    const record = fc.dictionary(fc.constantFrom(...names), fc.constantFrom(...values));
    const bodies = fc.oneof(json, fc.array(record, { minLength: 1, maxLength: 3 }));
    fc.assert(
      fc.property(bodies, (body) => {
        const response = { status: 200, headers: {}, body };
        const { contract, kinds } = learnContract([response]);
        const report = formatReport([{ name: 'x', response }], kinds, contract, {});
        for (const line of readyLines(report)) {
          const added = reload(line);
          if (added.errors !== undefined) continue; // it says what a code means, and reads nothing
          const { kinds: after } = learnContract([response], added);
          if (kinds[0] === null) expect(after).not.toEqual(kinds);
          else if (kinds[0] === 'audit')
            expect(readAll(body, added)).not.toEqual(readAll(body, {}));
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('prints characters that a terminal obeys as escapes, in values, names and the contract', async () => {
    const evil = '\u001b[2J\r\n\u202e\u2028\u0085\u200b';
    const record = {
      [`who${evil}`]: 'x',
      id: `1${evil}`,
      time: `2026${evil}`,
      action: evil,
      [`on${evil} path`]: evil,
    };
    const file = await save('evil.json', { [`events${evil}`]: [record], next: 'c' });
    await using learning = keytrailInProcess(['learn', '--from', file]);
    expect(await learning.status).toBe(0);
    const { stdout, stderr } = learning.output;
    expect(stdout + stderr).not.toMatch(/(?!\n)[\p{C}\p{Zl}\p{Zp}]/u);
    expect(stderr).toContain('\\u001b');
    expect(JSON.parse(stdout).audit.records).toBe(`/events${evil}`);
  });

  it('learns from several files, and the gateway starts with the printed contract', async () => {
    const record = { id: 1, time: '2026-11-21T00:00:00Z', what: 'key.delete' };
    const one = await save('one.json', { items: [record] });
    const two = await save('two.json', {
      items: [{ ...record, id: 2, user: { email: 'ann' } }],
      next: 'c',
    });
    const login = await save('login.json', { data: { session_token: 'CANARY' } });
    await using learning = keytrailInProcess(['learn', '--from', one, two, '--from', login]);
    expect(await learning.status).toBe(0);
    const { stdout, stderr } = learning.output;
    expect(JSON.parse(stdout)).toEqual({
      login: { accessToken: '/data/session_token' },
      audit: {
        records: '/items',
        paging: { style: 'cursor', next: '/next' },
        event: { id: '/id', occurredAt: '/time', action: '/what', actor: { name: '/user/email' } },
      },
    });
    const rows = stderr.split('\n').map((line) => line.trim().split(/ {2,}/));
    const time = '2026-11-21T00:00:00.000Z';
    expect(rows).toContainEqual(['field', 'read from', 'certain', 'record 1', 'record 2']);
    expect(rows).toContainEqual(['occurredAt', '/time', expect.any(String), time, time]);
    const certain = expect.stringMatching(/^0\.9\d$/);
    expect(rows).toContainEqual(['actor.name', '/user/email', certain, '-', 'ann']);
    expect(stderr).toContain(
      'Check these, which are the same in every record: occurredAt, action.\n',
    );
    expect(stderr).toContain('outcome is null: ');
    expect(stderr).toContain('set audit.paging.parameter');
    expect(stderr.split('\n').filter((line) => line.length > 100)).toEqual([]);
    expect(stderr + stdout).not.toContain('CANARY');

    await using service = await startService({ body: { items: [record] } });
    const contract = await save('contract.json', stdout);
    await using process = keytrailInProcess(['--port', '0', '--upstream-url', service.url], {
      KEYTRAIL_CONTRACT: contract,
    });
    await process.until(/GraphQL +http/);
  });

  it('skips a file without records and without a token, and learns from the others', async () => {
    const trail = await save('trail.json', [{ id: 1, time: '2026-11-21T00:00:00Z' }]);
    const other = await save('other.json', { colour: 'CANARY' });
    await using learning = keytrailInProcess(['learn', '--from', trail, other]);
    expect(await learning.status).toBe(0);
    const { stdout, stderr } = learning.output;
    expect(JSON.parse(stdout).audit.records).toBe('');
    expect(stderr).toContain(`Keytrail found neither records nor an access token in ${other}.\n`);
    expect(stderr).not.toContain(`in ${trail}.`);
    expect(stdout + stderr).not.toContain('CANARY');
  });

  it.each([
    [{ deletedCount: 0 }, '/deletedCount', '0', 'read as FAILED'],
    [{ ended: false }, '/ended', 'false', 'not understood'],
    [{ done: false }, '/done', 'false', 'read as ACCEPTED'],
    [{ revoked: true }, '/revoked', 'true', 'read as DELETED'],
  ] as const)(
    'proposes an entry for the response to a deletion, %j, and shows what it means with it',
    async (body, at, key, described) => {
      const saved = await save('deletion.json', body);
      await using learning = keytrailInProcess(['learn', '--from', saved]);
      expect(await learning.status).toBe(2);
      const { stderr } = learning.output;
      expect(stderr).toContain('If it is the response to a deletion, one of these decides.');
      expect(stderr).toContain(described);
      const line = readyLines(stderr).find((one) => one.deletion?.outcome.at === at);
      expect(Object.keys(line.deletion.outcome.map)).toEqual([key]);
      const outcome = { at, map: { [key]: 'NOT_FOUND' } };
      const contract = await save('deletion-contract.json', { deletion: { outcome } });
      await using trying = keytrailInProcess(['learn', '--contract', contract, '--from', saved]);
      expect(await trying.status).toBe(0);
      expect(trying.output.stderr).toBe(`The response to a deletion means NOT_FOUND: ${at}.\n`);
      expect(JSON.parse(trying.output.stdout)).toEqual({ deletion: { outcome } });
    },
  );

  it.each([
    [{ result: { status: 'gone' } }, '/result/status'],
    [{ success: true, message: 'Cannot delete it' }, '/message'],
    [{ deleted: 'no', code: 'canary' }, '/deleted'],
  ])('names the text of a deletion that decides, and does not show it: %j', async (body, at) => {
    const saved = await save('deletion.json', body);
    await using learning = keytrailInProcess(['learn', '--from', saved]);
    expect(await learning.status).toBe(2);
    const report = learning.output.stderr.replace(/\s+/g, ' ');
    expect(report).toContain(`this text decides: ${at}.`);
    expect(report).toContain(`{"at": "${at}", "map": {…}}`);
    expect(report).not.toMatch(/gone|Cannot delete it|canary/);
    const outcome = { at, map: { gone: 'DELETED', 'Cannot delete it': 'FAILED', no: 'FAILED' } };
    const contract = await save('deletion-contract.json', { deletion: { outcome } });
    await using trying = keytrailInProcess(['learn', '--contract', contract, '--from', saved]);
    expect(await trying.status).toBe(0);
    expect(trying.output.stderr).toMatch(/^The response to a deletion means (?:DELETED|FAILED): /);
  });

  it('learns from a live service with the token from the environment', async () => {
    await using service = await startService({
      body: [{ id: 1, time: '2026-11-21T00:00:00Z', colour: 'k' }],
    });
    await using learning = startKeytrail(['learn', '--upstream-url', service.url], {
      KEYTRAIL_TOKEN: 'CANARY',
    });
    expect(await learning.status).toBe(0);
    expect(JSON.parse(learning.output.stdout).audit.records).toBe('');
    expect(learning.output.stderr).toContain('Not mapped, only in `raw`:\n    /colour  k\n');
    expect(
      service.seen.map(({ method, url, headers }) => [method, url, headers.authorization]),
    ).toEqual([['GET', '/api/v1/audit', 'Bearer CANARY']]);
    expect(learning.output.stdout + learning.output.stderr).not.toContain('CANARY');
  });

  it('reads only its own settings from the environment', async () => {
    await using service = await startService({ body: [{ id: 1 }] });
    await using learning = keytrailInProcess(['learn'], {
      UPSTREAM_URL: service.url,
      KEYTRAIL_TOKEN: 't',
      PORT: 'x',
      NODE_ENV: 'x',
      KEYTRAIL_CONTRACT: '/nowhere.json',
    });
    expect(await learning.status).toBe(0);
    expect(learning.output.stderr).toContain('The first records, as mapped:');
  });

  it('shows where the tokens of a login are, and never a value', async () => {
    const file = await save('alone.json', { token: 'CANARY', expires_in: 60, id: 'CANARY2' });
    await using learning = keytrailInProcess(['learn', '--from', file]);
    expect(await learning.status).toBe(0);
    const { stdout, stderr } = learning.output;
    expect(JSON.parse(stdout)).toEqual({
      login: { accessToken: '/token', expires: { at: '/expires_in', as: 'seconds' } },
    });
    expect(stderr).toContain('  accessToken   /token (6 characters)\n');
    expect(stdout + stderr).not.toContain('CANARY');
  });

  it('names --headers if the contract reads the access token from a header', async () => {
    const file = await save('header.json', { renewal: 'CANARY7CANARY7CANARY7' });
    const contract = await save('header.contract.json', {
      login: { accessToken: { header: 'x-pass' }, refreshToken: '/renewal' },
    });
    await using learning = keytrailInProcess(['learn', '--contract', contract, '--from', file]);
    expect(await learning.status).toBe(2);
    const { stderr } = learning.output;
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain(
      'add the headers of the response with --headers.',
    );
    expect(readyLines(stderr)).toEqual([]);
  });

  it('lists fields outside of the records that may be a total, a flag or a cursor, escaped', async () => {
    const records = [{ id: 1, time: '2026-11-20T10:00:00Z', action: 'x' }];
    const file = await save('envelope.json', {
      records,
      ...{ bestand: 57, 'a\u001b': true, total: 1 },
      ...{ success: true, motto: 'b\u001b', pageLimit: 100, status: 200, self: '/a?page=100' },
    });
    await using learning = keytrailInProcess(['learn', '--from', file]);
    expect(await learning.status).toBe(0);
    const { stderr } = learning.output;
    expect(stderr).toContain('Outside of the records, not read: /bestand 57, /a\\u001b true. If');
    expect(stderr).not.toContain('\u001b');
  });

  it('suggests where the access token is, by the lengths of texts, and reads it with that line', async () => {
    const body = { sid: 'CANARY7CANARY7CANARY7', user: { name: 'CANARY' } };
    const file = await save('sid.json', body);
    await using learning = keytrailInProcess(['learn', '--from', file]);
    expect(await learning.status).toBe(2);
    const { stderr } = learning.output;
    expect(stderr).toContain('accessToken is null.');
    expect(stderr).toContain(
      'Texts in the response: /sid (21 characters), /user/name (6 characters).',
    );
    expect(readyLines(stderr)).toEqual([{ login: { accessToken: '/sid' } }]);
    expect(stderr).not.toContain('CANARY');
    const contract = await save('sid.contract.json', readyLines(stderr)[0]);
    await using second = keytrailInProcess(['learn', '--contract', contract, '--from', file]);
    expect(await second.status).toBe(0);
    expect(second.output.stderr).toContain('The login response has an access token:');
  });

  it.each<readonly [object, readonly object[]]>([
    [{ token: 'CANARY', token_type: 'Bearer', id: 'short' }, []],
    [
      { token: 'CANARY', offline_token: 'CANARY-2', id: 'short' },
      [{ login: { refreshToken: '/offline_token' } }],
    ],
  ])('says that a login has no refresh token, and where it may be: %j', async (body, expected) => {
    const file = await save('no-refresh.json', body);
    await using learning = keytrailInProcess(['learn', '--from', file]);
    expect(await learning.status).toBe(0);
    expect(learning.output.stderr).toContain('No refresh token was found');
    expect(readyLines(learning.output.stderr)).toEqual(expected);
    expect(learning.output.stderr).not.toContain('CANARY');
  });

  it('suggests tokens in the headers of the last response that curl saved', async () => {
    const headers = await save(
      'headers.txt',
      'HTTP/1.1 302 Found\r\nx-old-token: CANARY\r\n\r\nHTTP/2 200 \r\nX-Auth-Token: CANARY-1\r\nX-Refresh-Token: CANARY\r\nX-CSRF-Token: CANARY\r\n\r\n',
    );
    await using learning = keytrailInProcess(['learn', '--headers', headers]);
    expect(await learning.status).toBe(2);
    const access = { login: { accessToken: { header: 'x-auth-token' } } };
    expect(readyLines(learning.output.stderr)).toEqual([access]);
    const contract = await save('header.contract.json', access);
    const body = await save('empty.json', '');
    const args = ['learn', '--contract', contract, '--headers', headers, '--from', body];
    await using second = keytrailInProcess(args);
    expect(await second.status).toBe(0);
    expect(readyLines(second.output.stderr)).toEqual([
      { login: { refreshToken: { header: 'x-refresh-token' } } },
    ]);
    expect(second.output.stderr + learning.output.stderr).not.toContain('CANARY');
  });

  it('reads the total and the next page from the headers', async () => {
    const headers = await save('paged.txt', 'HTTP/1.1 200 OK\nX-Total: 7\n\n');
    const file = await save('paged.json', [{ id: 1, time: '2026-11-21T00:00:00Z' }]);
    await using learning = keytrailInProcess(['learn', '--from', file, '--headers', headers]);
    expect(await learning.status).toBe(0);
    expect(learning.output.stderr).toContain('Total: 7 (header x-total).');
    expect(JSON.parse(learning.output.stdout).audit.total).toEqual({ header: 'x-total' });
  });

  it('suggests a line with its confidence for a field that is null, and none for what is not there', async () => {
    const file = await save('rows.json', { rows: ROWS });
    await using learning = keytrailInProcess(['learn', '--from', file]);
    expect(await learning.status).toBe(0);
    const { stderr } = learning.output;
    expect(readyLines(stderr)).toEqual([
      { audit: { event: { id: '/Nr' } } },
      {
        audit: {
          event: {
            occurredAt: { at: '/When', as: { pattern: 'dd.MM.yyyy HH:mm' }, zone: 'UTC' },
          },
        },
      },
    ]);
    expect(stderr).toMatch(
      /id is null: (0\.\d\d), not certain enough\. Perhaps this is right: then add it to the contract:\n {4}\{"audit": \{"event": \{"id": "\/Nr"\}\}\} {2}\1 {2}8\n/,
    );
    expect(stderr).toContain('and replace UTC by the zone of the service');
    expect(stderr).toContain('outcome is null: no field');
    expect(stderr).toMatch(/\n {6}0\.9\d {2}20\.11\.2026 16:07\n/);
    const isText = (line: string) => !line.startsWith('    {');
    expect(stderr.split('\n').filter((line) => line.length > 100 && isText(line))).toEqual([]);
  });

  it.each(samplesOf('audit'))(
    'says of $name how certain each line is, and "perhaps" if it is less than 0.6',
    ({ response }) => {
      const { contract, kinds } = learnContract([response]);
      const report = formatReport([{ name: 'x', response }], kinds, contract, {});
      const isNull = (section: string) => /^[\w.]+ is null/.test(section);
      const ofEvent = report.slice(
        report.indexOf('The first records'),
        report.indexOf('  Not mapped'),
      );
      for (const section of ofEvent.split(/^ {2}(?=[\w.]+ is )/m).filter(isNull)) {
        const confidences = [...section.matchAll(/\}(?: {2,}|\n {6})(0\.\d\d) {2}/g)].map(
          ([, one]) => Number(one),
        );
        const lines = readyLines(section);
        expect(confidences).toHaveLength(lines.length);
        expect(confidences).toEqual(confidences.toSorted((a, b) => b - a));
        const [first = 1] = confidences;
        // A field in a member of free form needs to be certain.
        const isDoubtful = first < 0.6 || (first < 0.7 && /\{"audit.*"\/\w+\//.test(section));
        expect(isDoubtful || !/perhaps/i.test(section)).toBe(true);
        expect(first < 0.6 && !/perhaps/i.test(section)).toBe(false);
        const [, name = ''] = /^([\w.]+) is null/.exec(section) ?? [];
        for (const { audit } of lines) expect(memberAt(audit.event, name)).toBeDefined();
      }
      const doubts = [...ofEvent.matchAll(/ is read from \S+ with (0\.\d\d)/g)];
      for (const [, confidence] of doubts) expect(Number(confidence)).toBeLessThanOrEqual(0.9);
    },
  );

  it('suggests a line for each part of a party, also if another part was found', async () => {
    const { response } = samplesOf('audit').find(({ name }) => name === 'linode') ?? {};
    const file = await save('parts.json', response?.body);
    await using learning = keytrailInProcess(['learn', '--from', file]);
    expect(await learning.status).toBe(0);
    const { stdout, stderr } = learning.output;
    expect(JSON.parse(stdout).audit.event.target).toEqual({ identifier: '/entity/id' });
    const lines = readyLines(stderr).map(({ audit }) => audit.event.target);
    expect(lines).toContainEqual({ name: '/entity/label' });
    expect(lines).toContainEqual({ type: '/entity/type' });
  });

  it('tests a contract: reads by it, completes it, and has no advice for what it configures', async () => {
    const file = await save('tried.json', { rows: ROWS });
    const contract = await save('tried.contract.json', {
      audit: { event: { id: '/Nr', target: { name: null } } },
    });
    await using learning = keytrailInProcess(['learn', '--contract', contract, '--from', file]);
    expect(await learning.status).toBe(0);
    const { stdout, stderr } = learning.output;
    expect(JSON.parse(stdout).audit).toMatchObject({
      records: '/rows',
      event: { id: '/Nr', action: '/Verb', actor: { name: '/Who' }, target: { name: null } },
    });
    expect(stderr).toMatch(/^ {2}id {2,}\/Nr {2,}- {2,}8 {2,}7$/m);
    expect(stderr).toContain('target is null: the pointer in the contract leads to no value.\n');
    expect(readyLines(stderr).map((line) => Object.keys(line.audit.event))).toEqual([
      ['occurredAt'],
    ]);
  });

  it.each([
    ['with --complete', ['--complete'], 2],
    ['of 50 records', [], 50],
  ])(
    'prints null for each field that was not found %s, and the trail is read as before',
    async (_, options, count) => {
      const records = Array.from({ length: count }, (_, index) => ({
        ...{ id: `evt-${index}`, time: `2026-11-21T00:00:${String(index).padStart(2, '0')}Z` },
        ...{ action: 'key.delete', actor: { name: 'Ann' } },
      }));
      const file = await save('nulls.json', { events: records });
      await using learning = keytrailInProcess(['learn', ...options, '--from', file]);
      expect(await learning.status).toBe(0);
      const contract: ConfiguredContract = JSON.parse(learning.output.stdout);
      expect(contract.audit?.event).toEqual({
        ...{ id: '/id', occurredAt: '/time', action: '/action', outcome: null },
        actor: { identifier: null, name: '/actor/name', type: null },
        target: { identifier: null, name: null, type: null },
        ...{ ipAddress: null, userAgent: null },
      });
      expect(contract.audit).not.toHaveProperty('total');
      expect(learning.output.stderr).toContain('has null for each field that was not found');
      expect(readAll({ events: records }, contract)).toEqual(readAll({ events: records }, {}));
    },
  );

  it('prints no null for a field of which a line is more likely right than not, and names it', async () => {
    const records = Array.from({ length: 50 }, (_, index) => ({
      ...{ seq: index, when: `2026-11-20 16:${10 + index}:30`, verb: 'key.create', who: 'Ann' },
      ...{ res: index % 10 === 3 ? 'denied' : 'done' },
    }));
    const file = await save('undecided.json', { events: records });
    await using learning = keytrailInProcess(['learn', '--from', file]);
    expect(await learning.status).toBe(0);
    const { audit }: ConfiguredContract = JSON.parse(learning.output.stdout);
    expect(audit?.event).not.toHaveProperty('occurredAt');
    expect(audit?.event).not.toHaveProperty('outcome');
    expect(audit?.event?.actor).not.toHaveProperty('name');
    expect(audit?.event).toMatchObject({ userAgent: null, ipAddress: null });
    expect(learning.output.stderr.replace(/\s+/g, ' ')).toContain(
      'Not in the contract: occurredAt, outcome, actor.name. A line above is more likely right than not: add it, or null.',
    );
    const own = await save('own.json', {
      audit: { event: { occurredAt: null, outcome: null, actor: { name: null } } },
    });
    await using again = keytrailInProcess(['learn', '--contract', own, '--from', file]);
    expect(await again.status).toBe(0);
    expect(JSON.parse(again.output.stdout).audit.event).toMatchObject({
      ...{ occurredAt: null, outcome: null, userAgent: null },
    });
    expect(again.output.stderr).not.toContain('Not in the contract');
  });

  it('prints no null of a login or an empty trail, and none for a sample of 49 records', async () => {
    const login = await save('login.json', { access_token: 'a'.repeat(20) });
    await using first = keytrailInProcess(['learn', '--complete', '--from', login]);
    expect(await first.status).toBe(0);
    expect(JSON.parse(first.output.stdout)).toEqual({ login: { accessToken: '/access_token' } });
    const empty = await save('empty.json', { events: [] });
    await using none = keytrailInProcess(['learn', '--complete', '--from', empty]);
    expect(await none.status).toBe(0);
    expect(JSON.parse(none.output.stdout)).toEqual({ audit: { records: '/events' } });
    const records = Array.from({ length: 49 }, (_, id) => ({ id, time: '2026-11-21T00:00:00Z' }));
    const file = await save('few.json', records);
    await using second = keytrailInProcess(['learn', '--from', file]);
    expect(await second.status).toBe(0);
    expect(second.output.stdout).not.toContain('null');
  });

  it('refuses an invalid contract with every problem, under its own name', async () => {
    const file = await save('any.json', []);
    const contract = await save('typo.json', '{"audit": {"recods": "", "total": 5}}');
    await using learning = keytrailInProcess(['learn', '--contract', contract, '--from', file]);
    expect(await learning.status).toBe(2);
    const { stderr } = learning.output;
    expect(stderr).toMatch(/^keytrail learn:\n/);
    for (const problem of ['/audit/recods', '/audit/total']) expect(stderr).toContain(problem);
  });

  it.each([
    [undefined, 'no field with the name of an outcome holds a success flag, or a word for'],
    [null, 'the contract says that there is none.'],
    ['/nowhere', 'the pointer in the contract leads to no value.'],
    [{ at: '/id', map: { x: 'SUCCESS' } }, 'these values are not understood: /id 1.'],
  ])('gives the reason why a field is null, once: %j', async (outcome, reason) => {
    const file = await save('null.json', [{ id: 1, time: '2026-11-21T00:00:00Z', action: 'x' }]);
    const contract = await save('null.contract.json', { audit: { event: { outcome } } });
    await using learning = keytrailInProcess(['learn', '--contract', contract, '--from', file]);
    expect(await learning.status).toBe(0);
    const sentences = learning.output.stderr.replaceAll(/\s+/g, ' ').split('outcome is null');
    expect(sentences).toEqual([expect.any(String), expect.stringContaining(reason)]);
  });

  it('suggests a map for the words of an outcome, and lists values that are not in the map', async () => {
    const records = ['ok', 'nok', 'S4'].map((result, id) => ({
      ...{ id, result, time: '2026-11-21T00:00:00Z' },
      failed: id > 0,
    }));
    const file = await save('outcome.json', records.slice(1));
    await using learning = keytrailInProcess(['learn', '--from', file]);
    expect(await learning.status).toBe(0);
    const outcomes = readyLines(learning.output.stderr)
      .map((line) => line.audit.event.outcome)
      .filter((outcome) => outcome !== undefined);
    expect(outcomes).toEqual([
      { at: '/failed', map: { false: 'SUCCESS', true: 'FAILURE' } },
      { at: '/result', map: { nok: 'FAILURE' } },
    ]);
    const contract = await save('outcome.contract.json', {
      audit: { event: { outcome: { at: '/result', map: { ok: 'SUCCESS' } } } },
    });
    const all = await save('outcomes.json', records);
    await using second = keytrailInProcess(['learn', '--contract', contract, '--from', all]);
    expect(await second.status).toBe(0);
    expect(second.output.stderr).toContain(
      'outcome is null, because these values are not understood: /result nok, /result S4.',
    );
  });

  it('suggests the lists of a response whose records are in groups, and reads them with the first line', async () => {
    const log = (id: number) => ({ id, time: '2026-11-21T00:00:00Z', action: 'x' });
    const file = await save('groups.json', {
      days: [{ logs: [log(1)] }, { logs: [log(2), log(3)] }],
    });
    await using learning = keytrailInProcess(['learn', '--from', file]);
    expect(await learning.status).toBe(2);
    const [first] = readyLines(learning.output.stderr);
    expect(first).toEqual({ audit: { records: '/days/*/logs' } });
    const contract = await save('groups.contract.json', first);
    await using second = keytrailInProcess(['learn', '--contract', contract, '--from', file]);
    expect(await second.status).toBe(0);
    expect(second.output.stderr).toContain('Records: 3 at /days/*/logs.');
  });

  it.each([
    ['one', [1, null, 2], 'Records: 2 at /data, besides 1 null.'],
    ['several', [null, 1, 2, null, null], 'Records: 2 at /data, besides 3 nulls.'],
    ['none', [1, 2], 'Records: 2 at /data.'],
  ])('counts the nulls of a list: %s', async (name, ids, expected) => {
    const data = ids.map((id) => id && { id, time: '2026-11-21T00:00:00Z', action: 'x' });
    const file = await save(`nulls-${name}.json`, { data });
    await using learning = keytrailInProcess(['learn', '--from', file]);
    expect(await learning.status).toBe(0);
    expect(learning.output.stderr).toContain(expected);
  });

  it('suggests lists with nulls, and does not count them', async () => {
    const log = (id: number) => ({ id, time: '2026-11-21T00:00:00Z', action: 'x' });
    const file = await save('null-groups.json', {
      days: [{ logs: [log(1), null] }, { logs: [null, log(2), log(3)] }],
    });
    await using learning = keytrailInProcess(['learn', '--from', file]);
    expect(await learning.status).toBe(2);
    const [first] = readyLines(learning.output.stderr);
    expect(first).toEqual({ audit: { records: '/days/*/logs' } });
    expect(learning.output.stderr).toContain('3 objects');
    const contract = await save('null-groups.contract.json', first);
    await using second = keytrailInProcess(['learn', '--contract', contract, '--from', file]);
    expect(await second.status).toBe(0);
    expect(second.output.stderr).toContain('Records: 3 at /days/*/logs, besides 2 nulls.');
  });

  it('shows times as the graph has them, with three digits', async () => {
    const time = '2026-11-21T00:00:00.12345';
    const records = [1, 2].map((id) => ({ id, time: `${time}${id}Z`, action: 'key.create' }));
    const file = await save('digits.json', records);
    await using learning = keytrailInProcess(['learn', '--from', file]);
    expect(await learning.status).toBe(0);
    expect(learning.output.stderr).toMatch(/occurredAt .*2026-11-21T00:00:00\.123Z( |$)/m);
  });

  it('says how a contract reads rows of values', async () => {
    const file = await save('columns.json', { columns: ['id'], rows: [[1], [2]] });
    await using learning = keytrailInProcess(['learn', '--from', file]);
    expect(await learning.status).toBe(2);
    expect(learning.output.stderr).toMatch(/rows of values.*by its index/s);
  });

  it('shows no value of a credential in a record', async () => {
    const record = { id: 1, time: '2026-11-21T00:00:00Z', target: { api_key: 'CANARY' } };
    const file = await save('secrets.json', [
      { ...record, session_token: 'CANARY', what: 'eyJhbGciOiJI.eyJDQU5BUlki.x' },
    ]);
    await using learning = keytrailInProcess(['learn', '--from', file]);
    expect(await learning.status).toBe(0);
    const { stderr } = learning.output;
    expect(stderr).toMatch(/\/session_token +\(6 characters\)/);
    expect(stderr).not.toMatch(/CANARY|eyJ/);
  });

  it('shows nothing that has the form of a key, in values and in names', async () => {
    const key = 'sk_live_4eC39HqLyjWDarjtT1zdp7dc';
    const record = {
      ...{ id: key, time: '2026-11-21T00:00:00Z', action: `key.delete.${key}`, target: key },
      ...{ note: `created with ${key}, eyJhbGciOiJIUzI1NiJ9.eyJz`, [`of ${key}`]: key },
      ...{ by_key: { [key]: { role: key } }, url: `https://example.com/${key}?key=${key}` },
    };
    const file = await save('keys.json', [record, { ...record, id: `${key}2` }]);
    await using learning = keytrailInProcess(['learn', '--from', file]);
    expect(await learning.status).toBe(0);
    expect(learning.output.stderr).toContain('key.delete.(32 cha');
    expect(learning.output.stderr).not.toMatch(/sk_live|4eC39|eyJ/);
  });

  it.each([
    [['learn'], 'KEYTRAIL_TOKEN'],
    [['learn', '--from', '/nowhere.json'], '--from "/nowhere.json" cannot be read'],
    [['learn', '--token', 'x'], '--token is not an option of learn.'],
    [['learn', 'answer.json'], '--from FILE'],
    [['learn', '--headers', '/nowhere.txt'], '--headers "/nowhere.txt" cannot be read'],
    [['learn', '--contract', '/nowhere.json'], '--contract "/nowhere.json" cannot be read'],
    [['learn', '--upstream-url', 'x'], '--upstream-url must be an http or https URL'],
  ])('exits with 2 for %j', async (args, problem) => {
    await using learning = keytrailInProcess(args);
    expect(await learning.status).toBe(2);
    expect(learning.output.stderr).toContain(problem);
    expect(learning.output.stderr).toMatch(/^keytrail learn:/);
    expect(learning.output.stdout).toBe('');
  });

  it('exits with 2 for JSON without records and without a token, and for invalid JSON', async () => {
    for (const [text, problem] of [
      ['{"a": 1}', 'No response has a list of records or an access token'],
      ['{', 'is not JSON'],
    ] as const) {
      await using learning = keytrailInProcess(['learn', '--from', await save('bad.json', text)]);
      expect(await learning.status).toBe(2);
      expect(learning.output.stderr).toContain(problem);
    }
  });

  it('does not start a gateway with an invalid contract', async () => {
    const contract = await save('wrong.json', '{"audit": {"recods": "", "total": 5}}');
    for (const [file, problems] of [
      [contract, ['/audit/recods', '/audit/total']],
      [`${contract}.not`, ['KEYTRAIL_CONTRACT']],
    ] as const) {
      await using process = keytrailInProcess(['--port', '0'], { KEYTRAIL_CONTRACT: file });
      expect(await process.status).toBe(2);
      for (const problem of problems) expect(process.output.stderr).toContain(problem);
    }
  });
});

it('the gateway maps each audit sample the same with its learned contract as without one', async () => {
  let scripted = {};
  await using service = await startService(() => scripted);
  await using plain = gatewayOver(service.url);
  const query =
    '{ audit { raw nodes { id occurredAt action outcome actor { identifier name type } target { identifier name type } } } }';
  for (const { response } of samplesOf('audit')) {
    scripted = response;
    await using learned = gatewayOver(service.url, { contract: learnFrom(response.body) });
    const expected = await ask(plain, query, undefined, { token: 't' });
    expect((await ask(learned, query, undefined, { token: 't' })).data).toEqual(expected.data);
  }
});
