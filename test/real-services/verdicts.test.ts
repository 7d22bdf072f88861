import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSession } from '../../src/client/index.ts';
import {
  AuditDocument,
  DeleteApiKeyDocument,
  LoginDocument,
} from '../../src/client/operations.generated.ts';
import type { ConfiguredContract } from '../../src/gateway/mapping/contract.ts';
import { ask, codeOf, gatewayOver, onPort, type TestGateway } from '../helpers/gateway.ts';
import { keytrailInProcess } from '../helpers/process.ts';
import {
  type ReceivedRequest,
  type Service,
  type ServiceResponse,
  startService,
} from '../helpers/service.ts';

type Route = 'login' | 'audit' | 'deletion';

/** A 2xx response in the style of an API, and what a person reads in it. */
type Sample = {
  readonly route: Route;
  readonly style: string;
  readonly status: number;
  readonly body: unknown;
  /** `failed:403` names an HTTP status. `unknown`: English words, names, flags and codes do not tell. */
  readonly expect: string;
};

const readFixture = (name: string) =>
  JSON.parse(readFileSync(new URL(`../fixtures/verdicts/${name}.json`, import.meta.url), 'utf8'));

/** 120 refusals of each route in ten styles and five languages, and 60 successes of each. */
const REFUSALS: readonly Sample[] = readFixture('refusals');
const SUCCESSES: readonly Sample[] = readFixture('successes');
const WORDS: Readonly<Record<string, readonly string[]>> = readFixture('words');

let response: ServiceResponse = {};
let service: Service;
let gateway: TestGateway;

beforeAll(async () => {
  service = await startService(() => response);
  gateway = gatewayOver(service.url);
});

afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

/** Sends a response to a route. Returns the outcome, the number of events or `token`, or the code and the reason. */
async function send(
  route: Route,
  body: unknown,
  {
    status = 200,
    headers = {},
    over = gateway,
  }: Partial<ServiceResponse> & { over?: TestGateway } = {},
): Promise<string> {
  const type = typeof body === 'string' ? 'text/plain' : 'application/json';
  response = { status, body, headers: { 'content-type': type, ...headers } };
  const result = await requests[route](over);
  if (result.errors === undefined) return found(result.data);
  return `${codeOf(result)} ${result.errors[0]?.extensions.reason ?? ''}`.trim();
}

const credential = { clientSecret: 's' };
const requests = {
  login: (over: TestGateway) => ask(over, LoginDocument, { clientId: 'c', credential }),
  audit: (over: TestGateway) => ask(over, AuditDocument, {}, { token: 't' }),
  deletion: (over: TestGateway) =>
    ask(over, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' }),
};

function found(data: object | null | undefined): string {
  const { login, audit, deleteApiKey } = Object(data);
  if (login != null) return 'token';
  return deleteApiKey?.outcome ?? `${audit?.nodes?.length} events`;
}

/** The codes of HTTP statuses. */
const CODES: Readonly<Record<string, string>> = {
  ...{ 400: 'BAD_USER_INPUT', 401: 'UNAUTHENTICATED', 403: 'FORBIDDEN', 404: 'NOT_FOUND' },
  ...{ 409: 'CONFLICT', 422: 'BAD_USER_INPUT', 429: 'RATE_LIMITED' },
};

const named = (samples: readonly Sample[]) =>
  samples.map((sample) => ({ ...sample, text: JSON.stringify(sample.body).slice(0, 100) }));

describe('a refusal with status 200', () => {
  it('has 120 samples of each route', () => {
    for (const route of ['login', 'audit', 'deletion'])
      expect(REFUSALS.filter((sample) => sample.route === route).length).toBe(120);
  });

  it.each(named(REFUSALS.filter(({ route }) => route === 'deletion')))(
    'is never DELETED: $style, $text',
    async ({ status, body, expect: wanted }) => {
      const got = await send('deletion', body, { status });
      if (wanted === 'later') expect(got).toBe('ACCEPTED');
      else expect(got).toMatch(/ (?:SAYS_IT_FAILED|FIELD_UNREAD)$/);
    },
  );

  it.each(named(REFUSALS.filter(({ route }) => route !== 'deletion')))(
    'is an error of $route, if not a sentence alone says so: $style, $text',
    async ({ route, status, body, expect: wanted }) => {
      const got = await send(route, body, { status });
      if (wanted === 'unknown') expect(got).not.toBe('DELETED');
      else expect(got).toMatch(/^[A-Z_]+ /);
    },
  );

  it.each(named(REFUSALS.filter(({ expect: wanted }) => /^failed:(?!5)/.test(wanted))))(
    'has the code of the status that it names: $route, $style, $text',
    async ({ route, status, body, expect: wanted }) => {
      const [, named = ''] = wanted.split(':');
      const code = await send(route, body, { status });
      if (CODES[named] !== undefined) expect(code).toBe(`${CODES[named]} SAYS_IT_FAILED`);
    },
  );
});

describe('a success', () => {
  it('has 60 samples of each route', () => {
    for (const route of ['login', 'audit', 'deletion'])
      expect(SUCCESSES.filter((sample) => sample.route === route).length).toBe(60);
  });

  it.each(named(SUCCESSES.filter(({ route }) => route === 'deletion')))(
    'is DELETED: $style, $text',
    async ({ status, body }) => expect(await send('deletion', body, { status })).toBe('DELETED'),
  );

  it.each(named(SUCCESSES.filter(({ route }) => route === 'audit')))(
    'is an empty trail: $style, $text',
    async ({ status, body }) =>
      expect(await send('audit', body, { status })).toMatch(/^0 events|NO_RECORDS$/),
  );

  it.each(named(SUCCESSES.filter(({ route }) => route === 'login')))(
    'of a login is not refused: $style, $text',
    async ({ status, body }) =>
      expect(await send('login', body, { status })).not.toMatch(/SAYS_IT_FAILED|FIELD_UNREAD/),
  );
});

/** Words of five languages, as texts, codes and names. */
const words = fc.constantFrom(...Object.values(WORDS).flat());
const sentences = fc.array(words, { minLength: 1, maxLength: 8 }).map((list) => list.join(' '));
const codes = fc.oneof(
  fc.array(words, { minLength: 1, maxLength: 3 }).map((list) => list.join('_').toUpperCase()),
  fc.integer({ min: 2, max: 199 }),
  fc.integer({ min: 1000, max: 1999 }),
  fc
    .tuple(fc.constantFrom('E', 'X-', 'SYS'), fc.integer({ min: 1, max: 9999 }))
    .map((parts) => parts.join('')),
);
const wrap = fc
  .array(fc.constantFrom('data', 'result', 'response'), { maxLength: 2 })
  .map((names) => (body: unknown) => names.reduce((inner, name) => ({ [name]: inner }), body));

/** Names of identifiers, links, versions, times and other counts, which say nothing of a result, and of counted rows. */
const METADATA =
  /\b(?:key|id|time|date|url|link|version|total|offset|page|duration|request|trace|license|count|left|row)s?\b/i;

describe('what no rule understands', () => {
  it('is never DELETED: a sentence in any language', async () => {
    const names = fc.constantFrom('message', 'msg', 'detail', 'info', 'description', 'title');
    await fc.assert(
      fc.asyncProperty(sentences, names, wrap, async (text, name, inside) => {
        expect(await send('deletion', text)).not.toBe('DELETED');
        expect(await send('deletion', inside({ [name]: text }))).not.toBe('DELETED');
      }),
      { numRuns: 150 },
    );
  });

  it('is never DELETED, and never an empty trail: a code', async () => {
    const names = fc.constantFrom('code', 'status', 'ret', 'errcode', 'result_code', 'ack', 'rtn');
    await fc.assert(
      fc.asyncProperty(codes, names, wrap, async (code, name, inside) => {
        expect(await send('deletion', inside({ [name]: code }))).not.toBe('DELETED');
        expect(await send('deletion', { [name]: code, success: true })).not.toBe('DELETED');
        expect(await send('audit', { [name]: code, events: [] })).not.toBe('0 events');
      }),
      { numRuns: 150 },
    );
  });

  it('is never DELETED: a member of any name, a false flag', async () => {
    const values = fc.oneof(sentences, codes, fc.constant(false));
    const verbs = fc.constantFrom('forwarded', 'committed', 'logged_out', 'rotated', 'published');
    await fc.assert(
      fc.asyncProperty(words, values, verbs, async (name, value, verb) => {
        fc.pre(!METADATA.test(name));
        expect(await send('deletion', { [name]: value })).not.toBe('DELETED');
        expect(await send('deletion', { [verb]: false })).not.toBe('DELETED');
        expect(await send('audit', { [verb]: false, events: [] })).not.toBe('0 events');
      }),
      { numRuns: 150 },
    );
  });

  it('is no reason to refuse the token beside it, unless it is a number', async () => {
    await fc.assert(
      fc.asyncProperty(sentences, codes, async (message, code) => {
        const got = await send('login', { access_token: 'a', code, message });
        if (typeof code === 'number') expect(got).toBe('UPSTREAM_BAD_RESPONSE FIELD_UNREAD');
        expect(await send('login', { access_token: 'a', message, code: 1 })).not.toMatch(/UNREAD/);
      }),
      { numRuns: 100 },
    );
  });
});

const FAILED = 'UPSTREAM_ERROR SAYS_IT_FAILED';
const FORBIDDEN = 'FORBIDDEN SAYS_IT_FAILED';
const REFUSED = 'UNAUTHENTICATED SAYS_IT_FAILED';
const NO_TOKEN = 'UPSTREAM_BAD_RESPONSE NO_TOKEN';
const UNREAD = 'UPSTREAM_BAD_RESPONSE FIELD_UNREAD';
const UNKNOWN = 'OUTCOME_UNKNOWN FIELD_UNREAD';

/** What each route makes of what a response says: of a login with a token, of an empty list, of a list with an event. */
const CONSEQUENCES: readonly (readonly [
  says: string,
  member: object,
  login: string,
  audit: string,
  deletion: string,
])[] = [
  ['DONE', { success: true }, 'token', '0 events', 'DELETED'],
  ['NOTHING', {}, 'token', '0 events', 'DELETED'],
  ['FAILED, with a status', { code: 403 }, FORBIDDEN, FORBIDDEN, FORBIDDEN],
  ['FAILED', { error: 'broken' }, FAILED, FAILED, FAILED],
  ['REFUSED_TOKEN', { error: 'token_expired' }, REFUSED, REFUSED, REFUSED],
  ['ABSENT', { status: 'not_found' }, FAILED, FAILED, 'NOT_FOUND SAYS_IT_FAILED'],
  ['LATER', { status: 'queued' }, NO_TOKEN, FAILED, 'ACCEPTED'],
  ['PART', { timed_out: true }, NO_TOKEN, FAILED, UNKNOWN],
  ['UNKNOWN, by a number', { code: 9411 }, UNREAD, UNREAD, UNKNOWN],
  ['UNKNOWN, by a code', { code: 'E-77' }, 'token', UNREAD, UNKNOWN],
  ['UNKNOWN, by a sentence', { message: 'xyzzy plugh' }, 'token', '0 events', UNKNOWN],
];

const EVENT = { id: 'e1', time: '2026-01-01T00:00:00Z', action: 'login' };

describe('what a route makes of a response that says', () => {
  it.each(CONSEQUENCES)('%s: %j', async (_, member, login, audit, deletion) => {
    expect(await send('login', { access_token: 'a', ...member })).toBe(login);
    expect(await send('audit', { events: [], ...member })).toBe(audit);
    expect(await send('deletion', member)).toBe(deletion);
  });

  it.each(CONSEQUENCES)(
    '%s beside records: a page, whose end is known or not: %j',
    async (says, member) => {
      response = { body: { events: [EVENT], ...member } };
      const { data } = await ask(gateway, AuditDocument, {}, { token: 't' });
      expect(data?.audit?.nodes).toHaveLength(1);
      const isWhole = /^(?:DONE|NOTHING|UNKNOWN)/.test(says);
      expect(data?.audit?.pageInfo.hasNextPage).toBe(!isWhole);
    },
  );

  it.each<readonly [string, Partial<ServiceResponse>, string]>([
    [
      'a challenge',
      { headers: { 'www-authenticate': 'Bearer error="invalid_token"' } },
      'UNAUTHENTICATED',
    ],
    ['a status of gRPC', { headers: { 'grpc-status': '7' } }, 'FORBIDDEN'],
    ['another status of gRPC', { headers: { 'grpc-status': '13' } }, 'UPSTREAM_ERROR'],
  ])('in a header that it failed, before the body: %s', async (_, given, code) => {
    for (const route of ['login', 'audit', 'deletion'] as const)
      expect(await send(route, { success: true, access_token: 'a', events: [] }, given)).toBe(
        `${code} SAYS_IT_FAILED`,
      );
  });

  it('that the trail is not whole, unless the contract denies it', async () => {
    const body = { events: [EVENT], _shards: { total: 2, failed: 1 }, errors: ['x'] };
    for (const contract of [
      { audit: { paging: { more: null } } },
      { errors: { at: '/_shards/failed', map: { 1: null } } },
    ] satisfies ConfiguredContract[]) {
      await using over = gatewayOver(service.url, { contract });
      response = { body };
      const { data } = await ask(over, AuditDocument, {}, { token: 't' });
      expect(data?.audit?.pageInfo.hasNextPage).toBe(false);
    }
  });

  it('with a code of a list of errors, and no event, that it failed', async () => {
    const messages = [{ token_class: 'AccessToken', message: 'Token is invalid' }];
    const body = { detail: 'Given token not valid', code: 'token_not_valid', messages };
    expect(await send('audit', body)).toMatch(/SAYS_IT_FAILED$/);
  });
});

describe('the section `errors` of a contract', () => {
  const errors = {
    at: '/fault/no',
    map: { 0: null, 12: 'UNAUTHENTICATED', 77: 'NOT_FOUND', 8: 'CONFLICT' },
  } as const;
  const rest = { access_token: 'a', events: [], success: false, deleted: 0 };

  const all = (code: string) => Array(3).fill(`${code} SAYS_IT_FAILED`);
  it.each([
    [0, ['token', '0 events', 'DELETED']],
    [12, all('UNAUTHENTICATED')],
    [77, all('NOT_FOUND')],
    ['8', all('CONFLICT')],
    [9, ['token', UNREAD, UNKNOWN]],
  ])('decides alone, for each route: %j', async (no, expected) => {
    await using over = gatewayOver(service.url, { contract: { errors } });
    const body = { ...rest, fault: { no } };
    for (const [index, route] of (['login', 'audit', 'deletion'] as const).entries())
      expect(await send(route, body, { over })).toBe(expected[index]);
  });

  it('has an entry for every other value, and says nothing of a response without a value', async () => {
    const contract = { errors: { ...errors, else: 'UPSTREAM_ERROR' } } as const;
    await using over = gatewayOver(service.url, { contract });
    expect(await send('audit', { events: [], fault: { no: 5 } }, { over })).toBe(
      'UPSTREAM_ERROR SAYS_IT_FAILED',
    );
    expect(await send('deletion', { deleted: 0 }, { over })).toBe('UPSTREAM_ERROR SAYS_IT_FAILED');
    expect(await send('deletion', {}, { over })).toBe('DELETED');
  });

  it('reads a header, and yields to `deletion.outcome`', async () => {
    const at = { header: 'x-result' };
    const outcome = { at: '/gone', map: { true: 'DELETED' } } as const;
    const contract = { errors: { ...errors, at }, deletion: { outcome } };
    await using over = gatewayOver(service.url, { contract });
    const headers = { 'x-result': '12' };
    expect(await send('audit', { events: [] }, { headers, over })).toMatch(/^UNAUTHENTICATED/);
    expect(await send('deletion', { gone: true }, { headers, over })).toBe('DELETED');
  });
});

describe('a service that refuses with status 200 and a code of its own', () => {
  const errors = { at: '/fault/no', map: { 0: null, 12: 'UNAUTHENTICATED' } } as const;

  /** It accepts each new token once. */
  const respond = ({ url, headers, body }: ReceivedRequest): ServiceResponse => {
    const refused = { body: { fault: { no: 12 } } };
    if (url.endsWith('/login')) {
      if (body.includes('wrong')) return refused;
      issued += 1;
      return { body: { access_token: `t${issued}` } };
    }
    const isNew = headers.authorization === `Bearer t${issued}` && used < issued;
    if (!isNew) return refused;
    used = issued;
    return { body: { events: [EVENT], fault: { no: 0 } } };
  };
  let [issued, used] = [0, 0];

  it('lets a session log in again, and reports a wrong secret as one', async () => {
    await using own = await startService(respond);
    await using server = await onPort(gatewayOver(own.url, { contract: { errors } }));
    const url = `${server.url}/graphql`;
    const session = createSession({ url, clientId: 'c', clientSecret: 'right' });
    for (let count = 0; count < 3; count += 1) {
      const { data } = await session.request(AuditDocument, {});
      expect(data?.audit?.nodes).toHaveLength(1);
    }
    expect(own.seen.map(({ method }) => method)).toEqual([
      ...['POST', 'GET', 'GET', 'POST', 'GET', 'GET', 'POST', 'GET'],
    ]);
    const wrong = createSession({ url, clientId: 'c', clientSecret: 'wrong' });
    await expect(wrong.request(AuditDocument, {})).rejects.toMatchObject({
      extensions: { code: 'UNAUTHENTICATED' },
    });
  });

  it('ends an export with the status of a login that is needed', async () => {
    [issued, used] = [1, 1];
    await using own = await startService(respond);
    const folder = await mkdtemp(join(tmpdir(), 'keytrail-verdicts-'));
    const contract = join(folder, 'contract.json');
    await writeFile(contract, JSON.stringify({ errors }));
    const environment = { UPSTREAM_URL: own.url, KEYTRAIL_TOKEN: 't', KEYTRAIL_CONTRACT: contract };
    await using command = keytrailInProcess(['audit', '--output', 'ndjson'], environment);
    expect(await command.status).toBe(6);
    expect(command.output.stdout).toBe('');
    await rm(folder, { recursive: true });
  });
});
