import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gatewayOver, onPort } from '../helpers/gateway.ts';
import { keytrailInProcess } from '../helpers/process.ts';
import { startService } from '../helpers/service.ts';

const SECRET = 'canary-secret';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keytrail-sessions-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** A service whose tokens are valid once they are issued, until all are revoked. */
async function startIssuer(expiresIn = 3600) {
  let logins = 0;
  let valid = '';
  const grants: string[] = [];
  const service = await startService(({ url, body, headers }) => {
    if (url === '/api/v1/auth/login') {
      const { refresh_token, client_secret } = JSON.parse(body);
      grants.push(refresh_token ?? client_secret);
      logins += 1;
      valid = `canary-access-${logins}`;
      return {
        body: {
          ...{ access_token: valid, refresh_token: `canary-refresh-${logins}` },
          expires_in: expiresIn,
        },
      };
    }
    if (headers.authorization !== `Bearer ${valid}`) return { status: 401 };
    const record = { id: 'e1', at: '2026-01-01T00:00:00Z', action: 'login', actor: 'ci' };
    return { body: { events: [record] } };
  });
  const home = await mkdtemp(join(folder, 'home-'));
  const run = async (line: string, environment = {}, stdin = '', terminal = {}) => {
    const args = line.replaceAll('HOME', home).split(' ');
    const own = { UPSTREAM_URL: service.url, HOME: home, ...environment };
    await using command = keytrailInProcess(args, own, stdin, terminal);
    return { status: await command.status, ...command.output };
  };
  return {
    ...{ service, grants, home, run },
    login: (id = 'ci-bot') => run(`login ${id}`, {}, SECRET),
    /** Ends the access token before its time. */
    revoke: () => {
      valid = 'none';
    },
    files: () => readdir(join(home, '.local/state/keytrail')),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

describe('a login', () => {
  it('serves learn, record, check, status, token and logout, and no output but that of token has a token', async () => {
    await using issuer = await startIssuer();
    await issuer.login();
    const lines = ['learn', 'record --to HOME/r.har', 'check --from HOME/r.har', 'status --check'];
    for (const line of lines) {
      const { status, stdout, stderr } = await issuer.run(line);
      expect([line, status]).toEqual([line, 0]);
      expect(stdout + stderr).not.toContain('canary');
    }
    expect(await readFile(join(issuer.home, 'r.har'), 'utf8')).not.toContain('canary');
    expect((await issuer.run('token')).stdout).toBe('canary-access-1\n');
    expect((await issuer.run('token --header')).stdout).toBe(
      'authorization: Bearer canary-access-1\n',
    );
    const { status, stdout, stderr } = await issuer.run('logout ci-bot');
    expect([status, stdout]).toEqual([0, '']);
    expect(stderr).toMatch(/no route that\s+ends a token/);
    expect(stderr).not.toContain('canary');
    expect(await issuer.files()).toEqual([]);
    expect(issuer.grants).toEqual([SECRET]);
  });

  it.each(['learn', 'record --to HOME/r.har', 'check --from HOME/r.har', 'status --check'])(
    'whose access token is rejected is renewed once, by %s',
    async (line) => {
      await using issuer = await startIssuer();
      await issuer.login();
      await issuer.run('record --to HOME/r.har');
      issuer.revoke();
      const { status, stdout, stderr } = await issuer.run(line);
      expect([status, stdout + stderr]).toEqual([0, expect.not.stringContaining('canary')]);
      expect(issuer.grants).toEqual([SECRET, 'canary-refresh-1']);
      expect((await issuer.run('token')).stdout).toBe('canary-access-2\n');
    },
  );

  it('is renewed by token before the access token expires', async () => {
    await using issuer = await startIssuer(61);
    await issuer.login();
    const [name = ''] = await issuer.files();
    const file = join(issuer.home, '.local/state/keytrail', name);
    const saved = JSON.parse(await readFile(file, 'utf8'));
    const expiresAt = new Date(Date.now() + 10_000).toISOString();
    await writeFile(file, JSON.stringify({ ...saved, expiresAt }));
    expect((await issuer.run('token')).stdout).toBe('canary-access-2\n');
    expect(JSON.parse(await readFile(file, 'utf8')).since).toBe(saved.since);
  });

  it('whose refresh token is refused as well ends each command with 6, and prints nothing', async () => {
    await using issuer = await startIssuer();
    await issuer.login();
    await issuer.run('record --to HOME/r.har');
    issuer.revoke();
    const { url } = issuer.service;
    await issuer.service[Symbol.asyncDispose]();
    await using _ = await startService({ status: 401 }, Number(new URL(url).port));
    for (const line of ['learn', 'record --to HOME/n.har', 'check --from HOME/r.har']) {
      const { status, stdout, stderr } = await issuer.run(line);
      expect([line, status, stdout]).toEqual([line, 6, '']);
      expect(stderr).toMatch(/Log\s+in\s+again:\s+keytrail\s+login\s+ci-bot/);
    }
  });

  it('is not used where KEYTRAIL_TOKEN is set, but with --session', async () => {
    await using issuer = await startIssuer();
    await issuer.login();
    const [name] = await issuer.files();
    const session = `--session ${join(issuer.home, '.local/state/keytrail', String(name))}`;
    const environment = { KEYTRAIL_TOKEN: 'own' };
    expect((await issuer.run('token', environment)).stdout).toBe('own\n');
    expect((await issuer.run(`token ${session}`, environment)).stdout).toBe('canary-access-1\n');
    expect((await issuer.run('learn', environment)).status).toBe(6);
    expect((await issuer.run(`learn ${session}`, environment)).status).toBe(0);
    expect((await issuer.run('status', environment)).stdout).toContain('KEYTRAIL_TOKEN is set');
  });
});

describe('without a login', () => {
  it.each([
    'learn',
    'record --to HOME/r.har',
    'audit',
    'token --header',
    'logout',
    'status --check',
  ])('%s ends with 6, prints nothing and sends nothing', async (line) => {
    await using issuer = await startIssuer();
    const { status, stdout, stderr } = await issuer.run(line);
    expect([status, stdout, issuer.service.seen]).toEqual([6, '', []]);
    expect(stderr).toMatch(/logged\s+in/);
  });

  it('status says so', async () => {
    await using issuer = await startIssuer();
    const { status, stdout } = await issuer.run('status');
    expect([status, stdout]).toEqual([0, `Nobody is logged in to ${issuer.service.url}/.\n`]);
  });

  it('status needs no folder if there is a token', async () => {
    await using issuer = await startIssuer();
    expect((await issuer.run('status', { HOME: '' })).status).toBe(2);
    const environment = { HOME: '', KEYTRAIL_TOKEN: 'own' };
    expect((await issuer.run('status', environment)).stdout).toContain('KEYTRAIL_TOKEN is set');
  });
});

describe('the lock of a first login, which has no tokens yet', () => {
  const commands = [
    ...['learn', 'record --to HOME/r.har', 'audit', 'token --header', 'status --check'],
    ...['delete-key k-1 --yes', 'audit --follow', 'audit --checkpoint HOME/c.json'],
  ];

  /** A login whose response is lost. */
  async function startLost() {
    const service = await startService(({ url }, response) => {
      if (!url.endsWith('/login')) return { body: [] };
      response.destroy();
      return undefined;
    });
    const home = await mkdtemp(join(folder, 'lost-'));
    const run = async (line: string, stdin = '') => {
      const args = line.replaceAll('HOME', home).split(' ');
      const environment = { UPSTREAM_URL: service.url, HOME: home };
      await using command = keytrailInProcess(args, environment, stdin);
      const status = await command.status;
      const { stdout, stderr } = command.output;
      return { status, stdout, stderr: stderr.replaceAll(/\n {2}/g, ' ') };
    };
    return { ...service, run };
  }

  it.each(['', ' --session HOME/own'])('is what each command says of it%s', async (option) => {
    await using lost = await startLost();
    const login = await lost.run(`login ann${option}`, SECRET);
    expect(login.status).toBe(4);
    const [, file, logout = ''] =
      /before (\S+)\.lock is removed, as by keytrail (.*)\.$/.exec(login.stderr.trim()) ?? [];
    for (const line of commands) {
      const { status, stdout, stderr } = await lost.run(`${line}${option}`);
      expect([line, status, stdout]).toEqual([line, 1, '']);
      expect(stderr).toContain(
        `There are no tokens in ${file} yet. ${file}.lock: a login is running`,
      );
      expect(stderr).not.toMatch(/Nobody|not logged in/);
    }
    expect((await lost.run(`status${option}`)).stdout).toContain(
      `${file}.lock: a login is running`,
    );
    expect(lost.seen.map(({ url }) => url)).toEqual(['/api/v1/auth/login']);
    expect(await lost.run(logout)).toMatchObject({ status: 0 });
    expect(existsSync(`${file}.lock`)).toBe(false);
    expect((await lost.run('status')).stdout).toContain('Nobody is logged in');
  });
});

describe('a damaged session', () => {
  it('is listed by status, which does not say that nobody is logged in, and removed by logout', async () => {
    await using issuer = await startIssuer();
    await issuer.login();
    const [name = ''] = await issuer.files();
    const file = join(issuer.home, '.local/state/keytrail', name);
    await writeFile(file, '{"accessToken"');
    const { status, stdout } = await issuer.run('status');
    expect([status, stdout]).toEqual([
      ...[0, `ci-bot\n  file           ${file} is damaged: no tokens can be read from it\n`],
    ]);
    expect((await issuer.run('logout ci-bot')).status).toBe(0);
    expect(await issuer.files()).toEqual([]);
  });

  it.each(['status', 'logout', 'logout --force'])(
    'that --session names is refused by %s, and stays',
    async (line) => {
      await using issuer = await startIssuer();
      const file = join(issuer.home, 'other.json');
      await writeFile(file, '{}');
      const { status, stderr } = await issuer.run(`${line} --session ${file}`);
      expect([status, stderr]).toEqual([2, expect.stringMatching(/is\s+no\s+session/)]);
      expect(existsSync(file)).toBe(true);
    },
  );
});

describe('sessions that cannot be read', () => {
  it.each(['status', 'logout', 'audit', 'token'])(
    '%s ends with 2 and does not say that nobody is logged in: a file in place of the folder',
    async (line) => {
      await using issuer = await startIssuer();
      await mkdir(join(issuer.home, '.local/state'), { recursive: true });
      await writeFile(join(issuer.home, '.local/state/keytrail'), '');
      const { status, stdout, stderr } = await issuer.run(line);
      expect([status, stdout, issuer.service.seen]).toEqual([2, '', []]);
      expect(stderr).toMatch(/cannot be read\s+\(ENOTDIR\)/);
    },
  );

  it('login does not send the secret if there is a folder in place of the file', async () => {
    await using issuer = await startIssuer();
    const session = join(issuer.home, 'session');
    await mkdir(session);
    const { status, stderr } = await issuer.run(`login ci-bot --session ${session}`, {}, SECRET);
    expect([status, issuer.service.seen]).toEqual([2, []]);
    expect(stderr).toMatch(/cannot be read\s+\(EISDIR\)/);
  });
});

describe('status', () => {
  it('lists the logins of all services and gateways, as JSON too', async () => {
    await using issuer = await startIssuer();
    await using server = await onPort(gatewayOver(issuer.service.url));
    await issuer.login();
    const none = { UPSTREAM_URL: '' };
    await issuer.run(`login ann --gateway ${server.url}`, none, SECRET);
    const { stdout } = await issuer.run('status', none);
    expect(stdout).toContain(`ci-bot\n  at             ${issuer.service.url}/\n`);
    expect(stdout).toContain(`ann\n  at             ${server.url}/graphql\n`);
    const { sessions } = JSON.parse((await issuer.run('status --output json', none)).stdout);
    expect(sessions).toMatchObject([
      { clientId: 'ann', hasRefreshToken: true, isLocked: false },
      { clientId: 'ci-bot', hasRefreshToken: true, isLocked: false },
    ]);
    const own = await issuer.run(`status --gateway ${server.url}`, none);
    expect(own.stdout).not.toContain('ci-bot');
  });

  it('lists a file of an earlier version', async () => {
    await using issuer = await startIssuer();
    await issuer.login();
    const [name = ''] = await issuer.files();
    const file = join(issuer.home, '.local/state/keytrail', name);
    const { of, since, ...earlier } = JSON.parse(await readFile(file, 'utf8'));
    await writeFile(file, JSON.stringify(earlier));
    const { stdout } = await issuer.run('status');
    expect(stdout).toContain('ci-bot\n  at             a service that this file');
    expect((await issuer.run('audit')).status).toBe(0);
  });
});

describe('token', () => {
  it('is shown at a terminal with --show only', async () => {
    await using issuer = await startIssuer();
    await issuer.login();
    const terminal = { isTerminal: true };
    const refused = await issuer.run('token', {}, '', terminal);
    expect([refused.status, refused.stdout]).toEqual([2, '']);
    expect((await issuer.run('token --show', {}, '', terminal)).stdout).toBe('canary-access-1\n');
  });
});

describe('logout', () => {
  it('names the files if several clients are logged in, and removes that of the client', async () => {
    await using issuer = await startIssuer();
    for (const id of ['ann', 'bob']) await issuer.login(id);
    const { status, stderr } = await issuer.run('logout');
    expect(status).toBe(2);
    for (const name of await issuer.files()) expect(stderr).toContain(name);
    expect((await issuer.run('logout ann')).status).toBe(0);
    expect(await issuer.files()).toEqual([expect.stringMatching(/^bob-/)]);
  });

  it('removes the lock of a first login of which the outcome is unknown, which status lists', async () => {
    await using issuer = await startIssuer();
    const folder = join(issuer.home, '.local/state/keytrail');
    await issuer.login();
    const [name = ''] = await issuer.files();
    await rm(join(folder, name));
    await writeFile(join(folder, `${name}.lock`), 'x');
    await utimes(join(folder, `${name}.lock`), new Date(0), new Date(0));
    expect((await issuer.run('status')).stdout).toMatch(/^ci-bot\n {2}lock /);
    expect((await issuer.run('logout')).status).toBe(1);
    expect((await issuer.run('logout --force')).status).toBe(0);
    expect(await issuer.files()).toEqual([]);
  });

  it('removes a lock that stayed with --force only', async () => {
    await using issuer = await startIssuer();
    await issuer.login();
    const [name = ''] = await issuer.files();
    const lock = join(issuer.home, '.local/state/keytrail', `${name}.lock`);
    await writeFile(lock, 'x');
    await utimes(lock, new Date(0), new Date(0));
    expect((await issuer.run('status')).stdout).toContain('keytrail logout --force');
    const { status, stderr } = await issuer.run('logout');
    expect([status, existsSync(lock)]).toEqual([1, true]);
    expect(stderr).toContain('The last login ended without a known result');
    expect((await issuer.run('logout --force')).status).toBe(0);
    expect(await issuer.files()).toEqual([]);
  });
});
