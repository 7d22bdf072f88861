import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startInShell, startInTerminal } from '../helpers/process.ts';
import { startService } from '../helpers/service.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keytrail-'));
});
afterAll(() => rm(folder, { recursive: true }));

const TRAIL = [
  { id: 'e2', time: '2024-05-01T02:00:00Z', action: 'key.read', actor: 'ann' },
  { id: 'e1', time: '2024-05-01T01:00:00Z', action: 'key.delete', actor: 'bob' },
];

/** Runs a script of a shell to its end. */
async function runScript(script: string, environment: Readonly<Record<string, string>> = {}) {
  await using command = startInShell(script, environment);
  const status = await command.status;
  return { status, ...command.output };
}

describe('output that cannot be written', () => {
  const commands = [
    'learn --from trail.json',
    'check --from trail.har',
    'record --to /dev/stdout',
    'schema',
    'schema --client',
    'completion bash',
    'completion zsh',
    'completion fish',
    '--version',
    '--help',
    'help audit',
    'serve --help',
  ] as const;

  /** Runs a command over a service and a recording of it. */
  async function runOver(command: string, redirect: string) {
    await using service = await startService({ body: TRAIL });
    const environment = { UPSTREAM_URL: service.url, KEYTRAIL_TOKEN: 'token' };
    await writeFile(join(folder, 'trail.json'), JSON.stringify(TRAIL));
    const args = command.replace(/trail\.\w+/, `${folder}/$&`);
    const har = `$KEYTRAIL record --to ${folder}/trail.har 2> ${folder}/log`;
    const before = command.startsWith('check') ? `${har} && ` : '';
    const start = redirect.includes('}') ? '{ ' : '';
    return await runScript(`${before}${start}$KEYTRAIL ${args} ${redirect}`, environment);
  }

  it.each(commands)('is status 1 and a message with %s on a full disk', async (command) => {
    const { status, stderr } = await runOver(command, '> /dev/full');
    expect(stderr).toMatch(/^keytrail(?: [a-z]+)?: The output could not be written \(ENOSPC\): /m);
    expect(stderr).not.toMatch(/^ {4}at /m);
    expect(status).toBe(1);
  });

  it.each(
    commands.flatMap((command) => [':', 'head -1'].map((reader) => [command, reader] as const)),
  )('is status 0 with %s | %s', async (command, reader) => {
    const { stderr, stdout } = await runOver(command, `; echo "status $?" >&2; } | ${reader}`);
    expect(stderr).not.toContain('could not be written');
    expect(stderr).toMatch(/^status 0$/m);
    expect(stdout).toMatch(reader === ':' ? /^$/ : /^.+\n$/);
  });
});

describe('a file of state that cannot be written', () => {
  /** Without the right of root to write to read-only folders, and with that to read: only root may enter its clone. */
  const asUser =
    process.getuid?.() === 0 ? 'setpriv --bounding-set=-all,+dac_read_search --inh-caps=-all ' : '';

  const failures = [
    ['a disk that takes no byte', 'ulimit -f 0; $KEYTRAIL', 'EFBIG'],
    ['a folder that is read-only', `chmod 555 . ; ${asUser}$KEYTRAIL`, 'EACCES'],
  ] as const;

  /** Runs a command in a folder of its own, with its state in `state.json`. */
  async function runWith(command: string, start: string, isInTerminal = false) {
    await using service = await startService(({ method }) => ({
      body: method === 'GET' ? TRAIL : { access_token: 'one', refresh_token: 'two' },
    }));
    const own = await mkdtemp(join(folder, 'state-'));
    const environment = { UPSTREAM_URL: service.url, HOME: own };
    const enter = `cd ${own}; KEYTRAIL="\${KEYTRAIL%src/main.ts}$OLDPWD/src/main.ts"`;
    const work = `{ ${start} ${command}; echo "status $?" >&2; }`;
    await writeFile(join(own, 'work.sh'), `${enter}; ${work}`);
    const script = isInTerminal
      ? `script -qec 'sh ${own}/work.sh' /dev/null`
      : `sh ${own}/work.sh | cat`;
    const { stderr, stdout } = await runScript(script, { ...environment, TERM: 'xterm' });
    await chmod(own, 0o755); // it is removed at the end
    return { stderr, stdout, sent: service.seen.map(({ method }) => method) };
  }

  it.each(failures)('is status 1 for a checkpoint with %s', async (_, start, code) => {
    const command = 'audit --checkpoint state.json';
    const { stderr, stdout } = await runWith(
      `${command}`,
      `KEYTRAIL_TOKEN=a; export KEYTRAIL_TOKEN; ${start}`,
    );
    expect(stderr).toContain(`"state.json" could not be written (${code}), and is as it was.`);
    expect(stderr).toMatch(/^status 1$/m);
    expect(stdout).toBe('');
  });

  it.each(failures)('is all that a terminal shows with %s', async (_, start, code) => {
    for (const [command, before] of [
      ['audit --checkpoint state.json', 'KEYTRAIL_TOKEN=a; export KEYTRAIL_TOKEN'],
      ['login ann --session state.json < secret', 'echo s > secret'],
    ] as const) {
      const { stdout } = await runWith(command, `${before}; ${start}`, true);
      expect(stdout).toContain(code);
      expect(stdout.replaceAll(/\r?\n {2}/g, ' ')).toMatch(/^keytrail [a-z]+: .*\s+status 1\s+$/);
    }
  });

  it.each(failures)('is status 1 for the lock of a session with %s', async (_, start, code) => {
    const { stderr, sent } = await runWith(
      'login ann --session state.json < secret',
      `echo s > secret; ${start}`,
    );
    expect(stderr).toContain(code);
    expect(stderr).toMatch(/^status 1$/m);
    expect(sent).toEqual([]);
  });
});

describe('UPSTREAM_URL that ends with /api/v1', () => {
  it.each([
    ['https://service.example.com/api/v1', 'https://service.example.com'],
    ['https://service.example.com/api/v1/', 'https://service.example.com'],
    [
      'https://service.example.com:8443/tenants/7/api/v1//',
      'https://service.example.com:8443/tenants/7',
    ],
  ])('is status 2 for %s, and %s is named', async (url, right) => {
    for (const command of ['serve', 'audit', 'learn', 'login ann']) {
      const { status, stderr, stdout } = await runScript(
        `$KEYTRAIL ${command} --upstream-url ${url} < /dev/null`,
        { KEYTRAIL_TOKEN: 'a', HOME: folder },
      );
      expect(stderr).toContain(
        `--upstream-url must be without /api/v1, which Keytrail adds: ${right}.\n`,
      );
      expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    }
  });

  it.each(['/api/v10', '/api/v1/tenant', '/v1', '/my-api/v1x'])('is not %s', async (path) => {
    const script = `$KEYTRAIL audit --upstream-url http://127.0.0.1:9${path}`;
    const { stderr, status } = await runScript(script, { KEYTRAIL_TOKEN: 'a' });
    expect(stderr).not.toContain('/api/v1,');
    expect(status).not.toBe(2);
  });
});

describe('keytrail alone', () => {
  it('prints its help on a terminal, and starts nothing', async () => {
    await using terminal = startInTerminal({ PORT: '0' });
    expect(await terminal.status).toBe(0);
    expect(terminal.output.stdout).toMatch(
      /^Keytrail is (?:.|\r|\n)*\r\n\r\nUsage: keytrail \[command\]/,
    );
    expect(terminal.output.stdout).not.toContain('http://');
  });

  it.each([
    'exec $KEYTRAIL 2>&1',
    'exec script -qec "$KEYTRAIL --port 0" /dev/null',
    'exec script -qec "npm start" /dev/null',
  ])('starts the gateway with %s', async (script) => {
    await using command = startInShell(script, { PORT: '0', HOME: folder });
    await command.until(/http:\/\/127\.0\.0\.1:\d+\/graphql/);
  });
});
