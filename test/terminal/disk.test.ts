import { readdirSync } from 'node:fs';
import { mkdtemp, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Output, openOutput } from '../../src/terminal/output.ts';
import type { Runtime } from '../../src/terminal/runtime.ts';
import { type DiskFailure, failDisk } from '../helpers/failing-disk.ts';
import { keytrailInProcess, startKeytrail } from '../helpers/process.ts';
import { startService } from '../helpers/service.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keytrail-disk-'));
});
afterAll(() => rm(folder, { recursive: true }));

const TRAIL = ['e2', 'e1'].map((id, index) => ({
  ...{ id, time: `2024-05-01T0${2 - index}:00:00Z`, action: 'key.read', actor: 'ann' },
}));

/** A service that accepts only the last token that it has issued, and a folder for the files of a command. */
async function startIssuer() {
  let logins = 0;
  let valid = '';
  const deletions: (readonly string[])[] = [];
  const own = await mkdtemp(join(folder, 'own-'));
  const service = await startService(({ url, headers, method }) => {
    if (!url.endsWith('/login') && headers.authorization !== `Bearer ${valid}`)
      return { status: 401 };
    if (method === 'DELETE') {
      deletions.push(readdirSync(own));
      valid = '';
      return { status: 204 };
    }
    if (method === 'GET') return { body: TRAIL };
    logins += 1;
    valid = `canary-access-${logins}`;
    return { body: { access_token: valid, refresh_token: `canary-refresh-${logins}` } };
  });
  const session = join(own, 'session.json');
  const environment = { UPSTREAM_URL: service.url };
  const run = async (
    line: string,
    secret = '',
    output: Partial<Output> = {},
    more: Partial<Runtime> = {},
  ) => {
    const args = line.split(' ');
    await using command = keytrailInProcess(args, environment, secret, output, more);
    const status = await command.status;
    const { stdout, stderr } = command.output;
    expect(stdout + stderr).not.toMatch(/\bbug\b|HOST must|canary/);
    return { status, stdout, stderr: stderr.replaceAll(/\n {2}/g, ' ') };
  };
  return {
    ...{ own, session, environment, run },
    login: () => run(`login ann --session ${session}`, 'secret'),
    audit: () => run(`audit --session ${session}`),
    logins: () => logins,
    /** The files that there were at each deletion. Each ends the access token. */
    deletions,
    /** Ends the access token before its time. */
    revoke: () => {
      valid = '';
    },
    /** The files that have what was issued last, with their modes. */
    saved: async () => {
      const paths = (await readdir(own)).map((name) => join(own, name));
      const texts = await Promise.all(
        paths.map(async (path) => [path, await readFile(path, 'utf8')] as const),
      );
      const found = texts.filter(([, text]) => text.includes(`canary-refresh-${logins}"`));
      return Promise.all(
        found.map(async ([path]) => [path, ((await stat(path)).mode & 0o777).toString(8)]),
      );
    },
    [Symbol.asyncDispose]: service[Symbol.asyncDispose],
  };
}

type Issuer = Awaited<ReturnType<typeof startIssuer>>;

/** Does what a message says about the file that was kept. */
async function follow(message: string): Promise<void> {
  const [, from = '', to = '', lock = ''] =
    /They were written to (\S+)\. .* move that file to (\S+), then remove (\S+)\.(?:\s|$)/.exec(
      message,
    ) ?? [];
  await rename(from, to);
  await rm(lock);
}

const FOREVER = Number.POSITIVE_INFINITY;
const CODES = ['EPERM', 'EACCES', 'EBUSY', 'EINVAL', 'EIO', 'EDQUOT'];
const CASES = [
  ...['ENOSYS', 'ENOTSUP', 'EOPNOTSUPP'].map((code) => ['sync', code, FOREVER] as const),
  ...(['rename', 'sync'] as const).flatMap((call) =>
    CODES.flatMap((code) => [1, 2, FOREVER].map((times) => [call, code, times] as const)),
  ),
];

/** A busy file is waited for, and what a file system does not offer is not needed. */
const passes = (call: DiskFailure['call'], code: string, times: number) =>
  call === 'rename'
    ? ['EPERM', 'EACCES', 'EBUSY'].includes(code) && times < FOREVER
    : ['EINVAL', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP'].includes(code);

describe.concurrent.each(CASES)('%s that fails with %s, %d times', (call, code, times) => {
  const failFor = ({ own }: Issuer) => failDisk({ call, code, times, at: own });

  it('loses nothing of a login', async () => {
    await using issuer = await startIssuer();
    const { session, own } = issuer;
    const { status, stderr } = await (async () => {
      using _ = failFor(issuer);
      return await issuer.login();
    })();
    const saved = await issuer.saved();
    expect(saved).toEqual([[expect.stringContaining(session), '600']]);
    if (passes(call, code, times)) {
      expect([status, stderr]).toEqual([0, `Logged in as ann. The tokens are in ${session}.\n`]);
    } else {
      expect(status).toBe(1);
      expect(stderr).toContain(`could not be written to ${session} (${code})`);
      expect(stderr).toContain(`They were written to ${saved[0]?.[0]}.`);
      expect(stderr).not.toContain('Logged in');
      await follow(stderr);
    }
    expect(await issuer.audit()).toMatchObject({ status: 0, stderr: '' });
    expect([await readdir(own), issuer.logins()]).toEqual([['session.json'], 1]);
  });

  it('loses nothing of a renewal, and the command goes on', async () => {
    await using issuer = await startIssuer();
    const { session, own } = issuer;
    await issuer.login();
    issuer.revoke();
    const { status, stdout, stderr } = await (async () => {
      using _ = failFor(issuer);
      return await issuer.audit();
    })();
    expect([status, stdout.split('\n').length]).toEqual([0, 1 + TRAIL.length]);
    const saved = await issuer.saved();
    expect(saved).toEqual([[expect.stringContaining(session), '600']]);
    if (passes(call, code, times)) expect(stderr).toBe('');
    else {
      expect(stderr).toContain(`could not be written to ${session} (${code})`);
      expect(stderr).toContain(`They were written to ${saved[0]?.[0]}.`);
      await follow(stderr);
    }
    expect(await issuer.audit()).toMatchObject({ status: 0, stderr: '' });
    expect([await readdir(own), issuer.logins()]).toEqual([['session.json'], 2]);
  });

  it('loses nothing of an export', async () => {
    await using issuer = await startIssuer();
    const { session, own } = issuer;
    await issuer.login();
    const [events, file] = [join(own, 'events.ndjson'), join(own, 'checkpoint.json')];
    const line = `audit --session ${session} --checkpoint ${file}`;
    const writeTo = async () => {
      const { fd, close } = await open(events, 'a');
      try {
        return await issuer.run(line, '', openOutput({ fd, write: () => expect.unreachable() }));
      } finally {
        await close();
      }
    };
    const { status, stderr } = await (async () => {
      using _ = failFor(issuer);
      return await writeTo();
    })();
    if (passes(call, code, times)) expect([status, stderr]).toEqual([0, '']);
    else if (call === 'sync') {
      expect(status).toBe(1);
      expect(stderr).toContain(`The output could not be written (${code})`);
    } else {
      expect(status).toBe(code === 'EINVAL' ? 2 : 1); // such a name is not possible there
      expect(stderr).toContain(`--checkpoint ${JSON.stringify(file)} c`);
      expect(stderr).toMatch(new RegExp(`\\b${code}\\b`));
    }
    expect(await writeTo()).toMatchObject({ status: 0, stderr: '' });
    const ids = (await readFile(events, 'utf8'))
      .trim()
      .split('\n')
      .map((each) => JSON.parse(each).id);
    expect(ids.slice(-2)).toEqual(['e2', 'e1']); // written again, if it is not known that they are safe
    expect(ids.length).toBe(call === 'sync' && !passes(call, code, times) ? 4 : 2);
    expect((await readdir(own)).toSorted()).toEqual([
      'checkpoint.json',
      'events.ndjson',
      'session.json',
    ]);
  });
});

describe('tokens that cannot be moved', () => {
  it('are used by a command that goes on, and moved once that is possible, with one file beside', async () => {
    await using issuer = await startIssuer();
    const { session, own, deletions } = issuer;
    await issuer.login();
    using _ = failDisk({ call: 'rename', code: 'EIO', times: 3, at: own });
    const { status, stdout, stderr } = await issuer.run(
      `delete-key --yes k1 k2 k3 k4 --session ${session}`,
    );
    expect([status, stdout]).toEqual([0, 'DELETED\tk1\nDELETED\tk2\nDELETED\tk3\nDELETED\tk4\n']);
    expect(stderr.match(/They were written to/g)).toHaveLength(2);
    const beside = deletions.map((names) => names.filter((name) => name !== 'session.json').length);
    expect(beside).toEqual([0, 2, 2, 0]); // the lock, and one with tokens
    expect(await issuer.saved()).toEqual([[session, '600']]);
    expect([issuer.logins(), await readdir(own)]).toEqual([4, ['session.json']]);
  });

  it('are removed by logout --force', async () => {
    await using issuer = await startIssuer();
    const { session, own } = issuer;
    {
      using _ = failDisk({ call: 'rename', code: 'EIO', times: 1, at: own });
      await issuer.login();
    }
    expect(await readdir(own)).toHaveLength(2);
    const line = `logout ann --session ${session} --force`;
    expect((await issuer.run(line)).status).toBe(0);
    expect(await readdir(own)).toEqual([]);
  });
});

describe('a file that cannot be removed', () => {
  it('is named, if it is the lock of a login, which has succeeded', async () => {
    await using issuer = await startIssuer();
    const { session, own } = issuer;
    using _ = failDisk({ call: 'unlink', code: 'EIO', times: FOREVER, at: own });
    const { status, stderr } = await issuer.login();
    expect(status).toBe(0);
    expect(stderr).toContain(`${session}.lock could not be removed (EIO): remove it.`);
    expect(stderr).toContain('Logged in as ann.');
  });

  it('is named, if it is that beside a checkpoint', async () => {
    await using issuer = await startIssuer();
    const { session, own } = issuer;
    await issuer.login();
    using _rename = failDisk({ call: 'rename', code: 'EIO', times: FOREVER, at: own });
    using _unlink = failDisk({ call: 'unlink', code: 'EIO', times: FOREVER, at: own });
    const { status, stderr } = await issuer.run(
      `audit --session ${session} --checkpoint ${join(own, 'checkpoint.json')}`,
    );
    const left = (await readdir(own)).find((name) => name.endsWith('.tmp')) ?? '';
    expect(status).toBe(1);
    expect(stderr).toContain(`${JSON.stringify(join(own, left))} stays beside it: remove it.`);
  });
});

it.each([
  ['EBUSY', 1],
  ['EIO', 1],
  ['EISDIR', 2],
] as const)('a checkpoint that cannot be read with %s is status %i', async (code, expected) => {
  await using issuer = await startIssuer();
  await issuer.login();
  const readFile = () => {
    throw Object.assign(new Error(), { code, syscall: 'open' });
  };
  const { session, own } = issuer;
  const line = `audit --session ${session} --checkpoint ${join(own, 'c')}`;
  const { status, stderr } = await issuer.run(line, '', {}, { readFile });
  expect([status, stderr]).toEqual([
    expected,
    expect.stringMatching(/(?:could not|cannot) be read/),
  ]);
  if (expected === 1) expect(stderr).toContain(`(${code})`);
});

it('a file that fails where nothing is known of it is named with the code', async () => {
  await using issuer = await startIssuer();
  await issuer.login();
  const openOutput = () => {
    throw Object.assign(new Error(), { code: 'EMFILE', syscall: 'open', path: '/some/file' });
  };
  const line = `audit --session ${issuer.session}`;
  const { status, stderr } = await issuer.run(line, '', {}, { openOutput });
  expect([status, stderr]).toEqual([
    1,
    expect.stringContaining('"/some/file" could not be used (EMFILE, open)'),
  ]);
});

it.each(['audit', 'token', 'status', 'delete-key --yes k1', 'completion bash'])(
  'output of %s that fails with any code is status 1, and no bug',
  async (line) => {
    await using issuer = await startIssuer();
    await issuer.login();
    for (const code of CODES)
      for (const syscall of ['write', 'fsync', 'fdatasync']) {
        const write = () => Promise.reject(Object.assign(new Error(), { code, syscall }));
        const args = line.startsWith('completion') ? line : `${line} --session ${issuer.session}`;
        const { status, stderr } = await issuer.run(args, '', { write });
        expect([status, stderr]).toEqual([1, expect.stringContaining(`written (${code})`)]);
      }
  },
);

describe.concurrent('a process of its own', () => {
  const startFailing = (failure: DiskFailure, args: readonly string[], issuer: Issuer) =>
    startKeytrail(args, {
      ...issuer.environment,
      NODE_OPTIONS: `--import ${new URL('../helpers/failing-disk.ts', import.meta.url).href}`,
      FAILING_DISK: JSON.stringify(failure),
    });

  it.each([
    ['rename', 'EBUSY', 2, 0],
    ['rename', 'EIO', 1, 1],
    ['sync', 'EINVAL', 9, 0],
    ['sync', 'EDQUOT', 9, 1],
  ] as const)('loses nothing of a login with %s, %s', async (call, code, times, expected) => {
    await using issuer = await startIssuer();
    const { session, own } = issuer;
    const args = ['login', 'ann', '--session', session];
    await using command = startFailing({ call, code, times, at: own }, args, issuer);
    command.child.stdin.end('secret');
    expect(await command.status).toBe(expected);
    const stderr = command.output.stderr.replaceAll(/\n {2}/g, ' ');
    expect(stderr).not.toMatch(/\bbug\b|HOST must/);
    if (expected === 1) await follow(stderr);
    expect(await issuer.saved()).toEqual([[session, '600']]);
    expect(await readdir(own)).toEqual(['session.json']);
  });
});
