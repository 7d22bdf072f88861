import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FAILURES } from '../../src/errors.ts';
import { gatewayOver, onPort } from '../helpers/gateway.ts';
import { keytrailInProcess, startInTerminal } from '../helpers/process.ts';
import { type Service, type ServiceResponse, startService } from '../helpers/service.ts';

const SECRET = 'canary-secret';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keytrail-login-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Runs a command to its end. */
async function runCommand(
  line: string,
  environment: Readonly<Record<string, string>> = {},
  stdin = '',
) {
  await using command = keytrailInProcess(line.split(' '), environment, stdin);
  const status = await command.status;
  const { stdout, stderr } = command.output;
  expect(stdout + stderr).not.toContain('canary');
  return { status, stdout, stderr: stderr.replaceAll(/\n +/g, ' ') };
}

/** A response, or `lost` for a connection that is closed. */
type Reply = ServiceResponse | 'lost';

/** A session whose access token has expired, at a service that replies to its refresh token as given. */
async function startRefused(reply: Reply) {
  let count = 0;
  const service = await startService(({ body, headers }, response) => {
    if (body.includes('refresh_token')) {
      if (reply !== 'lost') return reply;
      response.destroy();
      return undefined;
    }
    if (body.includes('client_secret')) {
      count += 1;
      return { body: { access_token: `a${count}`, refresh_token: `canary-r${count}` } };
    }
    return headers.authorization === 'Bearer a1' ? { status: 401 } : { body: [] };
  });
  const session = join(await mkdtemp(join(folder, 'session-')), 'tokens.json');
  const at = { UPSTREAM_URL: service.url };
  const login = (stdin: string, environment = at) =>
    runCommand(`login ann --session ${session}`, environment, stdin);
  expect((await login(SECRET)).status).toBe(0);
  return {
    ...{ service, session, at, login },
    saved: () => readFile(session, 'utf8'),
    files: () => readdir(dirname(session)),
    [Symbol.asyncDispose]: service[Symbol.asyncDispose],
  };
}

/** The credentials of the logins that a service received. */
const sentTo = ({ seen }: Pick<Service, 'seen'>) =>
  seen
    .filter(({ url }) => url.endsWith('/login'))
    .map(({ body }) => Object.keys(JSON.parse(body))[1]);

const ONCE = ['client_secret', 'refresh_token'];
const ASKED = [...ONCE, 'client_secret'];

/** Refusals of a refresh token, with the code of their error. */
const REFUSALS: readonly (readonly [what: string, reply: ServiceResponse, code: string])[] = [
  ['400 invalid_grant', { status: 400, body: { error: 'invalid_grant' } }, 'BAD_USER_INPUT'],
  ['401', { status: 401 }, 'UNAUTHENTICATED'],
  ['403 invalid_grant', { status: 403, body: { error: 'invalid_grant' } }, 'FORBIDDEN'],
  ['404', { status: 404, body: { message: 'Refresh token not found' } }, 'NOT_FOUND'],
  ['409', { status: 409 }, 'CONFLICT'],
  ['410', { status: 410 }, 'NOT_FOUND'],
  ['422', { status: 422, body: { errors: { refresh_token: ['invalid'] } } }, 'BAD_USER_INPUT'],
  ...[402, 405, 413, 418, 419, 423, 440, 451, 499].map(
    (status) => [`${status}`, { status }, 'UPSTREAM_ERROR'] as const,
  ),
  ['498', { status: 498 }, 'UNAUTHENTICATED'],
  ['a 200 that says 400', { body: { code: 400, message: 'x' } }, 'BAD_USER_INPUT'],
  ['a 200 that says 498', { body: { error: { code: 498 } } }, 'UNAUTHENTICATED'],
  [
    'a 200 with an OAuth error',
    {
      body: {
        error: 'bad_refresh_token',
        error_description: 'The refresh token passed is incorrect or expired.',
        error_uri: 'https://service.example.com/errors#bad_refresh_token',
      },
    },
    'UNAUTHENTICATED',
  ],
];

/** What says nothing about the refresh token, with the exit status: 4 if it may be used up. */
const OTHERS: readonly (readonly [what: string, reply: Reply, status: number])[] = [
  ['425', { status: 425 }, 3],
  ['429', { status: 429 }, 3],
  ...[400, 403, 409, 423, 429, 503].map((status) => {
    const headers = { 'retry-after': '7' };
    return [`${status} with Retry-After`, { status, headers }, 3] as const;
  }),
  ['403 at a rate limit', { status: 403, headers: { 'x-ratelimit-remaining': '0' } }, 3],
  ...[307, 408, 500, 502, 503, 504].map((status) => [`${status}`, { status }, 4] as const),
  ['no response', 'lost', 4],
  ['a page', { body: '<p>Log in' }, 4],
  ['a 200 that reports a failure', { body: { success: false } }, 4],
  ['a 200 that says 500', { body: { code: 500 } }, 4],
];

const REFUSED = /The service\s+refused\s+the\s+refresh\s+token\s+of\s+the\s+session/;

describe('keytrail login, whose refresh token gets', () => {
  it.each(REFUSALS)('%s, asks for the secret in the same run', async (_, reply) => {
    await using bed = await startRefused(reply);
    const { status, stderr } = await bed.login(SECRET);
    expect(status).toBe(0);
    expect(stderr).toMatch(/^Logged in as \S+[^\n]*\n$/);
    expect(sentTo(bed.service)).toEqual(ASKED);
    expect(JSON.parse(await bed.saved())).toMatchObject({ accessToken: 'a2' });
    expect(await bed.files()).toEqual(['tokens.json']);
  });

  it.each(REFUSALS)('%s, and then no secret, keeps its file', async (_, reply, code) => {
    await using bed = await startRefused(reply);
    const before = await bed.saved();
    const { status, stderr } = await bed.login('');
    expect([status, stderr]).toEqual([6, expect.stringMatching(REFUSED)]);
    expect(stderr).toContain(`(${code})`);
    expect(stderr).toMatch(/Give the client secret\.\s*$/);
    expect(sentTo(bed.service)).toEqual(ONCE);
    expect(await bed.saved()).toBe(before);
    expect(await bed.files()).toEqual(['tokens.json']);
  });

  it.each(OTHERS)('%s, sends no secret and keeps the refresh token', async (_, reply, expected) => {
    await using bed = await startRefused(reply);
    const before = await bed.saved();
    const { status, stderr } = await bed.login(SECRET);
    expect(status).toBe(expected);
    expect(stderr).not.toContain('not accepted');
    expect(sentTo(bed.service)).toEqual(ONCE);
    expect(await bed.saved()).toBe(before);
    expect((await bed.files()).length).toBe(expected === 4 ? 2 : 1);
  });

  it('any 4xx or 5xx, asks for the secret if that is a refusal, and not one of the moment', async () => {
    const status = fc.integer({ min: 400, max: 599 });
    const property = fc.asyncProperty(status, fc.boolean(), async (status, isLater) => {
      const headers: Record<string, string> = isLater ? { 'retry-after': '7' } : {};
      await using bed = await startRefused({ status, headers });
      await bed.login(SECRET);
      const isRefusal = status < 500 && ![408, 425, 429].includes(status);
      const isOfToken = [401, 498].includes(status);
      expect(sentTo(bed.service)).toEqual(isRefusal && (!isLater || isOfToken) ? ASKED : ONCE);
    });
    await fc.assert(property, { numRuns: 40 });
  });

  it('no connection, asks for nothing', async () => {
    await using bed = await startRefused({ status: 400 });
    await bed.service[Symbol.asyncDispose]();
    const before = await bed.saved();
    const { status, stderr } = await bed.login(SECRET);
    expect([status, stderr]).toEqual([3, expect.stringContaining('UPSTREAM_UNAVAILABLE')]);
    expect(await bed.saved()).toBe(before);
  });

  it('400, and whose secret is refused as well, keeps its file', async () => {
    let isOver = false;
    await using service = await startService(() =>
      isOver ? { status: 400 } : { body: { access_token: 'a', refresh_token: 'r' } },
    );
    const session = join(folder, 'refused-twice.json');
    const login = () =>
      runCommand(`login ann --session ${session}`, { UPSTREAM_URL: service.url }, SECRET);
    await login();
    isOver = true;
    const before = await readFile(session, 'utf8');
    const { status, stderr } = await login();
    expect([status, stderr]).toEqual([6, expect.stringContaining('BAD_USER_INPUT')]);
    expect(sentTo(service)).toEqual(ASKED);
    expect(await readFile(session, 'utf8')).toBe(before);
  });

  it('400, shows why at a terminal, and then the prompt', async () => {
    await using bed = await startRefused({ status: 400, body: { error: 'invalid_grant' } });
    await using terminal = startInTerminal(bed.at, ['login', 'ann', '--session', bed.session]);
    await terminal.until(/not accepted \(BAD_USER_INPUT\)[\s\S]*\(not shown\): /);
    terminal.child.stdin.write(`${SECRET}\r`);
    expect(await terminal.status).toBe(0);
    expect(sentTo(bed.service)).toEqual(ASKED);
  });
});

describe('through a running gateway', () => {
  it.each(REFUSALS)('a refresh token that gets %s: login asks for the secret', async (_, reply) => {
    await using service = await startService(({ body }) =>
      body.includes('refresh_token') ? reply : { body: { access_token: 'a', refresh_token: 'r' } },
    );
    await using gateway = gatewayOver(service.url);
    await using listening = await onPort(gateway);
    const session = join(await mkdtemp(join(folder, 'gateway-')), 'tokens.json');
    const line = `login ann --session ${session} --gateway ${listening.url}`;
    for (let run = 0; run < 2; run += 1) {
      const { status } = await runCommand(line, {}, SECRET);
      expect(status).toBe(0);
    }
    expect(sentTo(service)).toEqual(ASKED);
  });

  /** Of a router that forwards nothing else. */
  const ASKING = ['BAD_USER_INPUT', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT'];

  it.each([...Object.keys(FAILURES), 'DOWNSTREAM_SERVICE_ERROR'])(
    'the code %s alone says whether login asks for the secret',
    async (code) => {
      const tokens = { accessToken: 'a', tokenType: '', refreshToken: 'r', expiresAt: null };
      await using router = await startService(({ body }) =>
        body.includes('refreshToken"')
          ? { body: { data: { login: null }, errors: [{ message: 'No.', extensions: { code } }] } }
          : { body: { data: { login: tokens } } },
      );
      const session = join(await mkdtemp(join(folder, 'router-')), 'tokens.json');
      const line = `login ann --session ${session} --gateway ${router.url}`;
      await runCommand(line, {}, SECRET);
      const { status } = await runCommand(line, {}, SECRET);
      const sent = router.seen.map(({ body }) =>
        Object.keys(JSON.parse(body).variables.credential),
      );
      expect(sent.flat()).toEqual([
        ...['clientSecret', 'refreshToken'],
        ...(ASKING.includes(code) ? ['clientSecret'] : []),
      ]);
      if (ASKING.includes(code)) expect(status).toBe(0);
      else expect([3, 4]).toContain(status);
    },
  );
});

describe('a refused refresh token', () => {
  const COMMANDS = [
    'audit',
    'audit --since 1d',
    'audit --follow',
    'audit --checkpoint FILE',
    'audit --follow --checkpoint FILE',
    'delete-key --yes a b',
    'delete-key --yes --unless-active-since 1d a',
  ];
  const LOG_IN = /Log\s+in\s+again:\s+keytrail\s+login\s+\S/;

  it.each(REFUSALS)('by %s: every command says to run keytrail login', async (_, reply) => {
    await using bed = await startRefused(reply);
    const before = await bed.saved();
    for (const command of COMMANDS) {
      const file = `${bed.session}.checkpoint`;
      const line = `${command.replace('FILE', file)} --session ${bed.session}`;
      const { status, stdout, stderr } = await runCommand(line, bed.at);
      expect([status, stdout + stderr], command).toEqual([6, expect.stringMatching(LOG_IN)]);
      expect(await bed.files(), command).toEqual(['tokens.json']);
    }
    expect(sentTo(bed.service)).toEqual(['client_secret', ...COMMANDS.map(() => 'refresh_token')]);
    expect(await bed.saved()).toBe(before);
  });

  it.each(REFUSALS.slice(0, 3))('by %s: they work after keytrail login', async (_, reply) => {
    await using bed = await startRefused(reply);
    expect((await bed.login(SECRET)).status).toBe(0);
    const { status, stderr } = await runCommand(`audit --session ${bed.session}`, bed.at);
    expect([status, stderr]).toEqual([0, '']);
  });

  it('ends no export with the advice for a position that is gone', async () => {
    await using bed = await startRefused({ status: 400 });
    const checkpoint = join(folder, 'position.json');
    await bed.login(SECRET);
    const line = `audit --checkpoint ${checkpoint} --session ${bed.session}`;
    expect((await runCommand(line, bed.at)).status).toBe(0);
    const [tokens, before] = [JSON.parse(await bed.saved()), await readFile(checkpoint, 'utf8')];
    await writeFile(bed.session, JSON.stringify({ ...tokens, accessToken: 'a1' }));
    const { status, stderr } = await runCommand(line, bed.at);
    expect([status, stderr]).toEqual([6, expect.stringMatching(LOG_IN)]);
    expect(stderr).not.toContain('The export cannot go on');
    expect(await readFile(checkpoint, 'utf8')).toBe(before);
  });

  it.each([400, 403, 404, 409, 422, 429, 503])(
    'is not meant by a %i that a read or a deletion gets itself',
    async (status) => {
      await using service = await startService({ status, headers: { 'retry-after': '600' } });
      const environment = { UPSTREAM_URL: service.url, KEYTRAIL_TOKEN: 't' };
      for (const line of ['audit', 'delete-key --yes a']) {
        const { stdout, stderr } = await runCommand(line, environment);
        expect(stdout + stderr).not.toContain('keytrail login');
      }
    },
  );
});
