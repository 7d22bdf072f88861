import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { SETTINGS } from '../../src/gateway/config/settings.ts';
import { createSchema } from '../../src/gateway/create-schema.ts';
import { RESPONSE_HEADERS } from '../../src/gateway/http/send-response.ts';
import { printClientSchema } from '../../src/gateway/schema/federation.ts';
import { parseCommandLine } from '../../src/terminal/command-line.ts';
import { COMMAND_NAMES, type CommandName } from '../../src/terminal/commands.ts';
import { keytrailInProcess, startKeytrail, startWithNpm } from '../helpers/process.ts';
import { sendRaw } from '../helpers/raw-socket.ts';
import { startService } from '../helpers/service.ts';

/** A second signal is a repeated one only if it arrives more than a second later. */
const REPEAT_MS = 1100;

const GRAPHQL = /(http:\/\/127\.0\.0\.1:\d+)\/graphql/;

async function query(url: string, text: string, token?: string) {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ query: text }),
  });
  return { headers: response.headers, ...(await response.json()) };
}

/** The options and variables that a help page describes. */
function namesIn(help: string): readonly string[] {
  const names = help.matchAll(/^ {2}(?:-\w, )?(--[\w-]+|[A-Z_]{6,}(?:, [A-Z_]+)*)/gm);
  return [...names].flatMap(([, name = '']) => name.split(', '));
}

const UPSTREAM_SETTINGS = [
  ...['UPSTREAM_URL', 'UPSTREAM_TIMEOUT_MS', 'UPSTREAM_MAX_BYTES', 'UPSTREAM_CA_FILE'],
  ...['UPSTREAM_CERT_FILE', 'UPSTREAM_KEY_FILE', 'UPSTREAM_HEADERS_FILE', 'UPSTREAM_ALLOW_HTTP'],
  ...['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'],
];
const REPORTS = ['--verbose', '--errors'];
const CLIENT_SETTINGS = [...UPSTREAM_SETTINGS, 'KEYTRAIL_CONTRACT'];

/** Of a command that may renew a login: then it may not be known whether that was carried out (4). */
const WITH_LOGIN = [0, 1, 2, 3, 4, 6, 130];
/** Of the other commands, and of the one that may miss events. */
const STATUSES: Readonly<Partial<Record<CommandName, readonly number[]>>> = {
  ...{ serve: [0, 1, 2], sandbox: [0, 1, 2], completion: [0, 1, 2], schema: [0, 1, 2] },
  ...{ audit: [0, 1, 2, 3, 4, 5, 6, 130], logout: [0, 1, 2, 6, 130] },
};

describe('the help of keytrail', () => {
  it('lists every command in at most 40 lines, and exits 0', async () => {
    await using process = startKeytrail(['--help']);
    expect(await process.status).toBe(0);
    const { stdout } = process.output;
    expect(stdout.split('\n').length).toBeLessThanOrEqual(40);
    const listed = [...stdout.matchAll(/^ {2}([a-z-]+) {2,}\S/gm)].map(([, name]) => name);
    expect(listed).toEqual(COMMAND_NAMES);
    expect(namesIn(stdout)).toEqual(['--help', '--version']);
  });

  it.for([['--help'], ['help'], ...COMMAND_NAMES.map((name) => [name, '--help'])])(
    '%j has at most 80 columns',
    async (args) => {
      await using process = keytrailInProcess(args);
      expect(await process.status).toBe(0);
      expect(process.output.stdout).toMatch(/^Usage: keytrail/m);
      expect(process.output.stdout).not.toMatch(/.{81}| $/m);
    },
  );

  it.each(COMMAND_NAMES.filter((name) => !['serve', 'sandbox'].includes(name)))(
    '%s --help has at most 40 lines, one screen',
    async (command) => {
      await using process = keytrailInProcess([command, '--help']);
      expect(process.output.stdout.split('\n').length - 1).toBeLessThanOrEqual(40);
    },
  );

  it.each([
    ['sandbox', ['--data', '--strict-login', '--recording', '--help', '--host', '--port']],
    [
      'learn',
      [
        '--from',
        '--headers',
        '--contract',
        '--complete',
        '--session',
        ...REPORTS,
        '--help',
        'KEYTRAIL_TOKEN',
        ...UPSTREAM_SETTINGS,
      ],
    ],
    [
      'record',
      [
        '--to',
        '--pages',
        '--login',
        '--session',
        ...REPORTS,
        '--help',
        'KEYTRAIL_TOKEN',
        ...CLIENT_SETTINGS,
      ],
    ],
    [
      'check',
      [
        '--from',
        '--output',
        '--session',
        ...REPORTS,
        '--help',
        'KEYTRAIL_TOKEN',
        ...CLIENT_SETTINGS,
      ],
    ],
    ['login', ['--gateway', '--session', ...REPORTS, '--help', ...CLIENT_SETTINGS]],
    [
      'audit',
      [
        ...['--since', '--until', '--actor', '--target', '--action', '--outcome', '--limit'],
        ...['--output', '--fields', '--raw', '--local', '--follow', '--checkpoint', '--explain'],
        ...['--gateway', '--session', ...REPORTS, '--help', 'KEYTRAIL_TOKEN', ...CLIENT_SETTINGS],
      ],
    ],
    [
      'status',
      [
        '--check',
        '--output',
        '--gateway',
        '--session',
        ...REPORTS,
        '--help',
        'KEYTRAIL_TOKEN',
        ...CLIENT_SETTINGS,
      ],
    ],
    [
      'token',
      [
        '--header',
        '--show',
        '--gateway',
        '--session',
        ...REPORTS,
        '--help',
        'KEYTRAIL_TOKEN',
        ...CLIENT_SETTINGS,
      ],
    ],
    ['logout', ['--force', '--gateway', '--session', ...REPORTS, '--help', ...CLIENT_SETTINGS]],
    ['completion', ['--help']],
    ['schema', ['--client', '--help']],
  ])('%s --help lists what the command takes, and nothing else', async (command, names) => {
    await using process = keytrailInProcess([command, '--help']);
    expect(namesIn(process.output.stdout)).toEqual(names);
  });

  it.each(COMMAND_NAMES)('%s --help lists its exit statuses', async (command) => {
    await using process = keytrailInProcess([command, '--help']);
    const [text = ''] = /^Exit status\.[\s\S]*/m.exec(process.output.stdout) ?? [];
    const statuses = [...text.matchAll(/(\d+):\s/g)].map(([, status]) => Number(status));
    expect(statuses).toEqual(STATUSES[command] ?? WITH_LOGIN);
  });

  it('audit --help has three examples, which are valid', async () => {
    await using process = keytrailInProcess(['audit', '--help']);
    const [, lines = ''] = /^Examples\n((?: {2}.*\n)+)/m.exec(process.output.stdout) ?? [];
    const examples = lines.split('\n').slice(0, -1);
    expect(examples).toHaveLength(3);
    for (const example of examples) {
      const [command = '', ...args] = example.replace(/>.*/, '').trim().split(' ');
      expect(command).toBe('keytrail');
      expect(parseCommandLine(args)).toMatchObject({ command: 'audit', problems: [] });
    }
  });

  it('serve --help lists every setting, in groups, and the variable that exports spans', async () => {
    await using process = keytrailInProcess(['serve', '--help']);
    const { stdout } = process.output;
    expect(namesIn(stdout)).toEqual([
      ...['--data', '--strict-login', '--help', 'OTEL_EXPORTER_OTLP_ENDPOINT'],
      ...Object.keys(SETTINGS).map((name) => `--${name.toLowerCase().replaceAll('_', '-')}`),
    ]);
    expect(stdout.match(/^[A-Z]\w+$/gm)).toEqual([
      ...['Options', 'Environment'],
      ...['Service', 'Listening', 'Access', 'Limits', 'Shutdown', 'Telemetry'],
    ]);
  });

  it('has the default of the command', async () => {
    for (const [command, text] of [
      ['serve', '(default: 4000)'],
      ['sandbox', '(default: 4001)'],
    ] as const) {
      await using process = keytrailInProcess([command, '--help']);
      expect(process.output.stdout).toContain(text);
    }
    await using learn = keytrailInProcess(['learn', '--help']);
    expect(learn.output.stdout).not.toContain('the embedded sandbox');
  });

  it('is printed instead of a problem, and for help with a command', async () => {
    for (const args of [
      ['learn', '--help', '--nope'],
      ['help', 'learn'],
      ['-h', 'learn'],
    ]) {
      await using process = keytrailInProcess(args);
      expect(await process.status).toBe(0);
      expect(process.output.stdout).toMatch(/^keytrail learn: /);
    }
  });
});

describe('keytrail', () => {
  it('--version prints the version', async () => {
    await using process = startKeytrail(['--version']);
    expect(await process.status).toBe(0);
    expect(process.output.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('lists every problem at once, without secrets, and exits 2', async () => {
    await using process = startKeytrail(
      ['--nope', 'hunter2', '--no=hunter2', '--port=abc', '--data'],
      {
        UPSTREAM_URL: 'http://user:hunter2@example.com',
        NODE_ENV: 'prod',
        UPSTREAM_CA_FILE: '/nowhere/ca.pem',
        NODE_TLS_REJECT_UNAUTHORIZED: '0',
      },
    );
    expect(await process.status).toBe(2);
    const { stderr, stdout } = process.output;
    for (const name of [
      '--nope',
      '--data',
      '--port',
      'UPSTREAM_URL',
      'NODE_ENV',
      'UPSTREAM_CA_FILE',
      'NODE_TLS',
    ]) {
      expect(stderr).toContain(`  - ${name}`);
    }
    expect(stderr).toMatch(/\nSee keytrail serve --help\.\n$/);
    expect(stderr + stdout).not.toContain('hunter2');
    expect(stderr).not.toContain('    at ');
  });

  const PORT_FORM = 'a port number, 0 to 65535 (0 picks a free one)';
  const CERT = 'shared/cert.pem';
  it.each([
    [
      ['nope'],
      {},
      'The command must be one of serve, sandbox, learn, record, check, login, audit, delete-key, status, token, logout, completion, schema. With npm, options follow --, as in npm start -- --port 4001.',
    ],
    [['lern'], {}, 'lern is not a command. Did you mean learn?'],
    [['help', 'lern'], {}, 'lern is not a command. Did you mean learn?'],
    [['serve', 'sandbox'], {}, 'Only one command'],
    [['--prot', '4000'], {}, '--prot is not an option of serve. Did you mean --port?'],
    [['-port', '4000'], {}, '-port is not an option of serve. Did you mean --port?'],
    [['--PORT=4000'], {}, '--PORT is not an option of serve. Did you mean --port?'],
    [['--nope', 'sandbox'], {}, '--nope is not an option of sandbox.\n'],
    [['learn', '--form', 'x'], {}, '--form is not an option of learn. Did you mean --from?'],
    [['lern', '--prot'], {}, '--prot is not an option. Did you mean --port?'],
    [
      ['--from', 'x'],
      {},
      '--from is not an option of serve. Use it with learn or check or delete-key.',
    ],
    [
      ['learn', '--port', '1'],
      {},
      '--port is not an option of learn. Use it with serve or sandbox.',
    ],
    [['schema', '--data', 'x'], {}, '--data is not an option of schema. Use it with serve'],
    [['sandbox', '--upstream-url', 'x'], {}, '--upstream-url is not an option of sandbox. Use it'],
    [['--port', '1', '--port=2'], {}, '--port is given more than once.'],
    [['--port'], {}, '--port needs a value.'],
    [['--port='], {}, '--port needs a value.'],
    [['--data', '--port', '0'], {}, '--data needs a value.'],
    [['--data', 'x'], { UPSTREAM_URL: 'http://127.0.0.1:9' }, '--data is for the sandbox'],
    [
      ['--strict-login'],
      { UPSTREAM_URL: 'http://127.0.0.1:9' },
      '--strict-login is for the sandbox',
    ],
    [['--data', 'x', '--upstream-url', 'http://[::1]:9'], {}, 'remove it, or --upstream-url.'],
    [['--client'], {}, '--client is not an option of serve. Use it with schema.'],
    [['schema', '--client=maybe'], {}, '--client must be on or off, not "maybe".'],
    [['--strict-login', 'maybe'], {}, '--strict-login must be on or off, not "maybe".'],
    [['--introspection', 'maybe'], {}, '--introspection must be on or off, not "maybe".'],
    [['--playground=1'], {}, '--playground must be on or off, not "1".'],
    [[], { PLAYGROUND: 'yes' }, 'PLAYGROUND must be on or off, not "yes".'],
    [['--port', 'abc'], {}, `--port must be ${PORT_FORM}, not "abc".`],
    [['--port', '-1'], {}, `--port must be ${PORT_FORM}, not "-1".`],
    [['--port', 'abc'], { PORT: 'def' }, `--port must be ${PORT_FORM}, not "abc".`],
    [[], { PORT: 'abc' }, `PORT must be ${PORT_FORM}, not "abc".`],
    [[], { PORT: 'a"\n\u001b[31m' }, String.raw`, not "a\"\n\u001b[31m".`],
    [[], { PORT: '7'.repeat(41) }, `, not "${'7'.repeat(40)}…".`],
    [[], { PORT: '70000' }, ', not "70000".'],
    [[], { PORT: '4e3' }, ', not "4e3".'],
    [['--log-level', 'loud'], {}, '--log-level must be one of trace, debug, info, warn, error'],
    [[], { NODE_ENV: 'production' }, 'UPSTREAM_URL is required when NODE_ENV is production.'],
    [['--node-env', 'production'], {}, 'UPSTREAM_URL is required when --node-env is production.'],
    [[], { UPSTREAM_URL: 'http://example.com' }, 'UPSTREAM_URL must be https'],
    [['--upstream-url', 'http://a.b'], {}, '--upstream-url must be https'],
    [
      ['--upstream-url', 'http://a.b', '--upstream-allow-http=off'],
      {},
      'Set --upstream-allow-http=on',
    ],
    [[], { UPSTREAM_URL: 'ftp://example.com' }, 'UPSTREAM_URL must be an http or https URL'],
    [[], { UPSTREAM_URL: 'https://example.com/?a=b' }, 'UPSTREAM_URL must be an http or https URL'],
    [[], { UPSTREAM_URL: 'https://example.com/#' }, 'UPSTREAM_URL must be an http or https URL'],
    [[], { UPSTREAM_URL: 'example.com' }, 'UPSTREAM_URL must be an http or https URL'],
    [[], { CORS_ORIGINS: '*' }, 'CORS_ORIGINS must be'],
    [[], { UPSTREAM_CA_FILE: CERT }, `PEM file that can be read, not "${CERT}".`],
    [['--upstream-ca-file', CERT], {}, '--upstream-ca-file must be the path of a PEM file'],
    [['--keytrail-contract', 'x.json'], {}, '--keytrail-contract must be the path of a JSON file'],
    [[], { UPSTREAM_CERT_FILE: '/x' }, 'UPSTREAM_CERT_FILE and UPSTREAM_KEY_FILE'],
    [['--upstream-cert-file', '/x'], {}, '--upstream-cert-file and UPSTREAM_KEY_FILE must be set'],
    [[], { NODE_ENV: 'production', UPSTREAM_URL: 'https://a', NODE_DEBUG: 'http' }, 'NODE_DEBUG'],
    [[], { METRICS_PORT: '4000' }, 'METRICS_PORT must differ from PORT.'],
    [['--port', '1'], { METRICS_PORT: '1' }, 'METRICS_PORT must differ from --port.'],
    [[], { SHUTDOWN_DRAIN_MS: '25000' }, 'SHUTDOWN_DRAIN_MS must be less than SHUTDOWN_TIMEOUT_MS'],
    [
      ['--shutdown-drain-ms', '25000'],
      {},
      '--shutdown-drain-ms must be less than SHUTDOWN_TIMEOUT',
    ],
  ])('%j with %j is rejected: %s', async (args, environment, sentence) => {
    await using process = keytrailInProcess(args, environment);
    expect(await process.status).toBe(2);
    expect(process.output.stderr).toContain(sentence);
  });

  it('reports a problem once', async () => {
    await using process = keytrailInProcess(['schema', '--port', '1', '--port', '2']);
    expect(await process.status).toBe(2);
    expect(process.output.stderr.match(/--port is not an option/g)).toHaveLength(1);
  });

  it.each([[['hunter2']], [['serve', 'hunter2']], [['learn', 'hunter2']], [['-hunter2=hunter2']]])(
    'does not repeat a word of %j that may be a secret',
    async (args) => {
      await using process = keytrailInProcess(args);
      expect(await process.status).toBe(2);
      expect(process.output.stderr.replace('-hunter2 is', '')).not.toContain('hunter2');
    },
  );

  it.each([
    [['sandbox', '--port', '0'], { METRICS_PORT: 'x', NODE_ENV: 'production' }],
    [['schema'], { PORT: 'x', UPSTREAM_URL: 'x' }],
    [['serve', '--port', '0'], { UPSTREAM_URL: '' }],
  ])('%j ignores %j', async (args, environment) => {
    await using process = keytrailInProcess(args, environment);
    await process.until(/sandbox|extend schema/i);
    expect(process.output.stderr).not.toContain('must be');
  });

  it.each(['PORT', 'METRICS_PORT'])(
    'reports once that its %s is in use, and exits 1',
    async (name) => {
      await using service = await startService({});
      const { port } = new URL(service.url);
      await using process = keytrailInProcess([], { PORT: '0', [name]: port });
      expect(await process.status).toBe(1);
      const { stderr } = process.output;
      expect(stderr).toMatch(/^keytrail: cannot start: .* is in use .*\n$/);
      expect(stderr).toContain(` ${name}=`);
    },
  );

  it('names the option with which it was given a port in use', async () => {
    await using service = await startService({});
    await using process = keytrailInProcess(['--port', new URL(service.url).port]);
    expect(await process.status).toBe(1);
    expect(process.output.stderr).toContain(' --port=4002');
  });

  it.each([
    [['--host', 'fe80::1'], {}, '--host'], // link-local, without a zone
    [[], { HOST: 'fe80::1' }, 'HOST'],
    [['--metrics-host', 'fe80::1', '--metrics-port', '0'], {}, '--metrics-host'],
    [[], { METRICS_HOST: 'fe80::1', METRICS_PORT: '0' }, 'METRICS_HOST'],
  ])(
    '%j with %j reports in one sentence that it cannot listen there, and exits 1',
    async (args, environment, name) => {
      await using process = keytrailInProcess([...args, '--port', '0'], environment);
      expect(await process.status).toBe(1);
      expect(process.output.stderr).toMatch(/^keytrail: cannot start: .*\n$/);
      expect(process.output.stderr).toContain(`: ${name} must be an address `);
      expect(process.output.stderr).toContain(', not "fe80::1".');
    },
  );

  it('reports in one sentence that its data file is not a database, and exits 1', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'keytrail-'));
    try {
      const file = join(folder, 'x');
      await writeFile(
        file,
        'this is not a database, but long enough for a database header '.repeat(20),
      );
      await using process = keytrailInProcess(['--data', file, '--port', '0']);
      expect(await process.status).toBe(1);
      expect(process.output.stderr).toMatch(/^keytrail: cannot start: --data must be .*\n$/);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('keytrail serve', () => {
  it('without UPSTREAM_URL uses the sandbox, prints that it does, and prints a curl command that logs in', async () => {
    await using process = startKeytrail([], { PORT: '0' });
    await process.until(/curl -s .*\n/);
    const { stderr } = process.output;
    expect(stderr).toContain('THIS IS THE SANDBOX');
    const [, url = '', body = ''] = /curl -s (\S+) -H '[^']+' -d '([^']+)'/.exec(stderr) ?? [];
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    const { data } = await response.json();
    expect(data.login.accessToken).toMatch(/^[\w-]{43}$/);
    const [line = ''] = await process.until(/\{.*"msg":"request"\}/);
    expect(JSON.parse(line)).toMatchObject({ operation: 'mutation', fields: 'login', status: 200 });
    expect(process.output.stdout).not.toContain(data.login.accessToken);
    expect(process.output.stdout).not.toContain('demo-admin');
  });

  it('with UPSTREAM_URL forwards there, and does not mention the sandbox', async () => {
    await using service = await startService({ body: [{ id: 'real' }] });
    await using process = keytrailInProcess([
      '--port',
      '0',
      '--upstream-url',
      `${service.url}/prefix`,
    ]);
    const [, url = ''] = await process.until(GRAPHQL);
    expect(await query(url, '{ audit { nodes { id } } }', 'abc')).toMatchObject({
      data: { audit: { nodes: [{ id: 'real' }] } },
    });
    expect(service.seen.map(({ method, url: path }) => `${method} ${path}`)).toEqual([
      'GET /prefix/api/v1/audit',
    ]);
    expect(process.output.stderr).not.toMatch(/sandbox|demo/i);
  });

  it.each([
    [['--introspection'], 200],
    [['--introspection=off'], 400],
    [['--introspection', 'off'], 400],
    [['--introspection', 'serve'], 200],
  ])('%j sets introspection: the schema is returned with %i', async (args, status) => {
    await using process = keytrailInProcess([...args, '--port', '0'], {
      NODE_ENV: 'production',
      UPSTREAM_URL: 'https://a.example',
    });
    const [, url = ''] = await process.until(GRAPHQL);
    const response = await fetch(
      `${url}/graphql?query=${encodeURIComponent('{ __schema { queryType { name } } }')}`,
      { headers: { accept: 'application/graphql-response+json' } },
    );
    expect(response.status).toBe(status);
  });

  it('redirects browsers from / to the playground, with the headers of every response', async () => {
    await using process = keytrailInProcess([], { PORT: '0' });
    const [, url = ''] = await process.until(GRAPHQL);
    for (const method of ['GET', 'HEAD']) {
      const headers = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
      const response = await fetch(`${url}/`, { method, headers, redirect: 'manual' });
      expect([response.status, response.headers.get('location')]).toEqual([302, '/graphql']);
      expect(Object.fromEntries(response.headers)).toMatchObject(RESPONSE_HEADERS);
    }
    const absolute = `GET ${url}/ HTTP/1.1\r\nhost: a\r\naccept: text/html\r\nconnection: close\r\n\r\n`;
    expect(await sendRaw(url, absolute)).toMatch(/^HTTP\/1.1 302 .*location: \/graphql\r$/ms);
    const page = await fetch(url, { headers: { accept: 'text/html' } });
    expect(await page.text()).toContain('GraphiQL');
  });

  it.each([
    ['POST', '/', 'text/html', {}],
    ['GET', '/', '*/*', {}],
    ['GET', '/other', 'text/html', {}],
    ['GET', '/', 'text/html', { PLAYGROUND: 'false' }],
  ])(
    'responds to %s %s with accept: %s and %j with 404',
    async (method, path, accept, settings) => {
      await using process = keytrailInProcess([], { PORT: '0', ...settings });
      const [, url = ''] = await process.until(GRAPHQL);
      expect((await fetch(`${url}${path}`, { method, headers: { accept } })).status).toBe(404);
    },
  );

  it('prints only its log in production, as JSON from the start', async () => {
    const settings = { NODE_ENV: 'production', PORT: '0', METRICS_PORT: '0' };
    await using process = keytrailInProcess([], { ...settings, UPSTREAM_URL: 'https://a.example' });
    const [, url = ''] = await process.until(GRAPHQL);
    await fetch(`${url}/graphql`);
    await expect.poll(() => process.output.stdout.split('\n').length).toBe(3);
    const [start, request] = process.output.stdout.split('\n');
    expect(JSON.parse(start ?? '')).toEqual({
      ...{ level: 30, time: expect.any(String), msg: 'listening', version: '0.0.0' },
      ...{ url: `${url}/graphql`, metrics: expect.stringMatching(/^http:.*\/metrics$/) },
    });
    expect(JSON.parse(request ?? '')).toMatchObject({ msg: 'request' });
    expect(process.output.stderr).toBe('');
  });

  it('in production has neither introspection nor playground', async () => {
    await using process = keytrailInProcess([], {
      PORT: '0',
      NODE_ENV: 'production',
      UPSTREAM_URL: 'https://a.example',
    });
    const [, url = ''] = await process.until(GRAPHQL);
    const { errors } = await query(url, '{ __schema { queryType { name } } }');
    expect(errors[0].extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
    const page = await fetch(`${url}/graphql`, { headers: { accept: 'text/html' } });
    expect(page.status).toBe(406);
    expect(page.headers.get('content-type')).toContain('json');
  });

  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('exits at once on a second %s, even if requests hang', async (signal, status) => {
    await using service = await startService(() => new Promise(() => {}));
    await using process = startKeytrail([], {
      PORT: '0',
      UPSTREAM_URL: service.url,
      UPSTREAM_TIMEOUT_MS: '600000',
      SHUTDOWN_DRAIN_MS: '500000',
      SHUTDOWN_TIMEOUT_MS: '600000',
    });
    const [, url = ''] = await process.until(GRAPHQL);
    const hanging = Promise.allSettled(
      Array.from({ length: 20 }, (_, caller) =>
        query(url, '{ audit { totalCount } }', `t${caller}`),
      ),
    );
    await expect.poll(() => service.seen.length).toBe(20);
    process.child.kill(signal);
    const ready = async () => (await fetch(new URL('/health/ready', url))).status;
    await expect.poll(ready).toBe(503);
    await wait(REPEAT_MS);
    process.child.kill(signal);
    expect(await process.status).toBe(status);
    expect((await hanging).every((end) => end.status === 'rejected')).toBe(true);
  });

  it('serves its metrics while it drains', async () => {
    await using process = startKeytrail([], {
      PORT: '0',
      METRICS_PORT: '0',
      SHUTDOWN_DRAIN_MS: '500000',
      SHUTDOWN_TIMEOUT_MS: '600000',
    });
    const [, url = ''] = await process.until(GRAPHQL);
    const [, metricsUrl = ''] = await process.until(/(http:\/\/127\.0\.0\.1:\d+\/metrics)/);
    process.child.kill('SIGTERM');
    const ready = async () => (await fetch(new URL('/health/ready', url))).status;
    await expect.poll(ready).toBe(503);
    expect((await fetch(metricsUrl)).status).toBe(200);
  });

  it.each([[['SIGTERM']], [['SIGINT']], [['SIGHUP']], [['SIGINT', 'SIGTERM']]] as const)(
    'after %j finishes the requests in flight, closes its connections and exits 0',
    async (signals) => {
      const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
      await using service = await startService(async () => {
        arrive();
        await new Promise((resolve) => setTimeout(resolve, 300));
        return { body: [] };
      });
      // A timer that is not cleared would keep the process alive for longer than the test's timeout.
      const settings = { PORT: '0', UPSTREAM_URL: service.url, UPSTREAM_TIMEOUT_MS: '60000' };
      await using process = startKeytrail([], settings);
      const [, url = ''] = await process.until(GRAPHQL);
      await query(url, '{ __typename }'); // leaves an idle connection behind
      const response = query(url, '{ audit { totalCount } }', 't');
      await arrived;
      for (const signal of signals) process.child.kill(signal);
      const { data, headers } = await response;
      expect(data).toEqual({ audit: { totalCount: 0 } });
      expect(headers.get('connection')).toBe('close');
      expect(await process.status).toBe(0);
      await expect(fetch(url)).rejects.toThrow();
    },
  );

  it.each(['{ audit { totalCount } }', 'mutation { deleteApiKey(clientId: "k") { outcome } }'])(
    'aborts at the shutdown timeout a request that does not finish: %s',
    async (operation) => {
      const { promise: arrived, resolve: arrive } = Promise.withResolvers<string>();
      await using service = await startService(() => {
        arrive('arrived');
        return new Promise(() => {});
      });
      await using process = startKeytrail([], {
        PORT: '0',
        UPSTREAM_URL: service.url,
        UPSTREAM_TIMEOUT_MS: '60000',
        SHUTDOWN_TIMEOUT_MS: '100',
      });
      const [, url = ''] = await process.until(GRAPHQL);
      // The call to the service and the client's connection are closed at the same time: either may be first.
      const outcome = query(url, operation, 't').then(
        ({ errors }) => errors[0].extensions.code,
        () => 'CLOSED',
      );
      // A busy machine may refuse the request before it reaches the service: then this says so.
      expect(await Promise.race([arrived, outcome])).toBe('arrived');
      process.child.kill('SIGTERM');
      expect(['CLOSED', 'UPSTREAM_UNAVAILABLE', 'OUTCOME_UNKNOWN']).toContain(await outcome);
      expect(await process.status).toBe(0);
    },
  );

  it('does not wait at shutdown for a connection without a request', async () => {
    await using process = startKeytrail([], { PORT: '0', SHUTDOWN_TIMEOUT_MS: '60000' });
    const [, url = ''] = await process.until(GRAPHQL);
    const idle = connect(Number(new URL(url).port), '127.0.0.1');
    await once(idle, 'connect');
    idle.on('error', () => {});
    process.child.kill('SIGTERM');
    expect(await process.status).toBe(0);
  });

  it('keeps serving when the reader of its log exits', async () => {
    await using process = startKeytrail([], { PORT: '0' });
    const [, url = ''] = await process.until(GRAPHQL);
    process.child.stdout.destroy();
    for (let round = 0; round < 3; round += 1) {
      expect((await query(url, '{ __typename }')).data).toEqual({ __typename: 'Query' });
    }
  });

  it('exits although the reader of its log has stopped reading', async () => {
    await using process = startKeytrail([], { PORT: '0' });
    const [, url = ''] = await process.until(GRAPHQL);
    process.child.stdout.pause();
    const head = `GET /health/live HTTP/1.1\r\nhost: a\r\nx-request-id: ${'r'.repeat(64)}\r\n`;
    const pipelined = `${`${head}\r\n`.repeat(29)}${head}connection: close\r\n\r\n`;
    for (let count = 0; count < 3000; count += 30) await sendRaw(url, pipelined);
    process.child.kill('SIGTERM');
    expect(await once(process.child, 'exit')).toEqual([0, null]);
  });

  it('started by npm stops when npm is stopped', async () => {
    await using process = startWithNpm({ PORT: '0' });
    const [, url = ''] = await process.until(GRAPHQL);
    process.child.kill('SIGTERM');
    await process.status;
    await expect(fetch(url)).rejects.toThrow();
  });

  it('started by npm opens no inspector on SIGUSR1', async () => {
    await using process = startWithNpm({ PORT: '0' });
    const [, url = ''] = await process.until(GRAPHQL);
    const npm = await readFile(
      `/proc/${process.child.pid}/task/${process.child.pid}/children`,
      'utf8',
    );
    const [pid] = npm.trim().split(' ').map(Number);
    globalThis.process.kill(pid ?? Number.NaN, 'SIGUSR1');
    expect((await query(url, '{ __typename }')).data).toEqual({ __typename: 'Query' });
    expect(process.output.stderr).not.toMatch(/debugger/i);
    process.child.kill('SIGTERM'); // npm's child would survive a SIGKILL of npm
    await process.status;
  });

  it('survives a service that is down, and malformed requests', async () => {
    await using process = startKeytrail([], { PORT: '0', UPSTREAM_URL: 'http://127.0.0.1:9' });
    const [, url = ''] = await process.until(GRAPHQL);
    const { errors } = await query(url, '{ audit { totalCount } }', 't');
    expect(errors[0].extensions.code).toBe('UPSTREAM_UNAVAILABLE');
    for (const body of ['', '{', '[]', '{"query":"{"}', '\u0000']) {
      await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
    }
    expect((await query(url, '{ __typename }')).data).toEqual({ __typename: 'Query' });
    expect(process.output.stderr).not.toContain('    at ');
  });
});

describe('keytrail sandbox', () => {
  it('runs alone, and a gateway in another process forwards to it', async () => {
    await using sandbox = startKeytrail(['sandbox', '--port', '0']);
    const [, upstream = ''] = await sandbox.until(/UPSTREAM_URL=(\S+)/);
    await using gateway = startKeytrail([], { PORT: '0', UPSTREAM_URL: upstream });
    const [, url = ''] = await gateway.until(GRAPHQL);
    const [, id, secret] = await sandbox.until(/(demo-admin) +(\S+)/);
    const { data } = await query(
      url,
      `mutation { login(clientId: "${id}", credential: {clientSecret: "${secret}"}) { tokenType } }`,
    );
    expect(data).toEqual({ login: { tokenType: 'Bearer' } });
    sandbox.child.kill('SIGTERM');
    expect(await sandbox.status).toBe(0);
  });

  it.each(['0.0.0.0', '::'])('on %s prints a URL that a gateway accepts', async (HOST) => {
    await using sandbox = keytrailInProcess(['sandbox'], { PORT: '0', HOST });
    const [, url = ''] = await sandbox.until(/UPSTREAM_URL=(\S+)/);
    expect(url).toMatch(/^http:\/\/(127\.0\.0\.1|\[::1\]):\d+$/);
    expect((await fetch(`${url}/api/v1/audit`)).status).toBe(401);
  });
});

describe('keytrail schema', () => {
  it('prints the schema', async () => {
    await using process = keytrailInProcess(['schema']);
    expect(await process.status).toBe(0);
    expect(process.output.stdout).toMatch(/^extend schema @link/);
  });

  it('--client prints it without federation', async () => {
    await using process = keytrailInProcess(['schema', '--client']);
    expect(await process.status).toBe(0);
    expect(process.output.stdout).toBe(printClientSchema(createSchema()));
    await using off = keytrailInProcess(['schema', '--client=off']);
    expect(await off.status).toBe(0);
    expect(off.output.stdout).toMatch(/^extend schema @link/);
  });
});
