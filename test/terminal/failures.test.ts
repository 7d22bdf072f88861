import { mkdtemp, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gatewayOver, onPort } from '../helpers/gateway.ts';
import { keytrailInProcess, runInTerminal } from '../helpers/process.ts';
import { startRawService } from '../helpers/raw-socket.ts';
import { type ServiceResponse, startService } from '../helpers/service.ts';

const SECRET = 'canary-7f3a-secret';
const TOKEN = 'canary-7f3a-token';

/** A response of the service, or what it does with the connection. */
type Way =
  | ServiceResponse
  | ((response: ServerResponse) => void)
  | { readonly raw: string }
  | { readonly url: string }
  | { readonly settings: Readonly<Record<string, string>>; readonly response: ServiceResponse };

const HTML = { headers: { 'content-type': 'text/html' }, body: `<h1>${SECRET}</h1>` };

/** Ways to fail: by status, by body and by transport. */
const WAYS: Readonly<Record<string, Way>> = {
  'HTTP 400': { status: 400, body: { error: SECRET } },
  'HTTP 401': { status: 401, body: { error: SECRET } },
  'HTTP 403': { status: 403, ...HTML },
  'HTTP 404': { status: 404, ...HTML },
  'HTTP 405': { status: 405 },
  'HTTP 409': { status: 409 },
  'HTTP 410': { status: 410 },
  'HTTP 413': { status: 413 },
  'HTTP 422': { status: 422, body: { message: SECRET } },
  'HTTP 429, wait long': { status: 429, headers: { 'retry-after': '600' } },
  'HTTP 500': { status: 500, ...HTML },
  'HTTP 501': { status: 501 },
  'HTTP 502': { status: 502, ...HTML },
  'HTTP 503, wait long': { status: 503, headers: { 'retry-after': '600' } },
  'HTTP 504': { status: 504 },
  'HTTP 301': {
    status: 301,
    headers: { location: `https://user:${SECRET}@other.example/api/v1/audit?token=${SECRET}` },
  },
  'HTTP 307 without a location': { status: 307 },
  'a page of HTML': HTML,
  'broken JSON': { body: '{"token": ' },
  'another object': { body: { other: 1 } },
  'a body that says that it failed': { body: { success: false, error: SECRET } },
  'a body that says that the token is invalid': { body: { error: 'invalid_token' } },
  'a compressed body': {
    headers: { 'content-encoding': 'gzip' },
    body: gzipSync('{}').toString('latin1'),
  },
  'a large body': {
    settings: { UPSTREAM_MAX_BYTES: '1024' },
    response: { body: JSON.stringify({ unknown: 'x'.repeat(3000) }) },
  },
  'a truncated body': (response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('{"data":');
    setTimeout(() => response.destroy(), 20);
  },
  'large headers': {
    raw: `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(40_000)}\r\ncontent-length: 0\r\n\r\n`,
  },
  'no HTTP': { raw: 'SSH-2.0-OpenSSH_9.9\r\n' },
  'a closed connection': (response) => void response.destroy(),
  'no response': { settings: { UPSTREAM_TIMEOUT_MS: '100' }, response: { status: 599 } },
  'a refused connection': { url: 'http://127.0.0.1:9' },
  'an unknown host': { url: 'https://keytrail.invalid' },
  'TLS to a plain port': { url: 'https:' },
};

const COMMANDS = {
  audit: ['audit'],
  login: ['login', 'ci-bot'],
  'delete-key': ['delete-key', 'k-1', '--yes'],
  status: ['status', '--check'],
  learn: ['learn'],
  record: ['record', '--to'],
  check: ['check', '--from'],
} as const;

let folder = '';
let recording = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keytrail-failures-'));
  recording = join(folder, 'recording.har');
  const records = [{ id: 'e1', at: '2026-01-01T00:00:00Z', action: 'login', actor: 'ci' }];
  await using service = await startService({ body: { data: records } });
  await using command = keytrailInProcess(['record', '--to', recording], {
    UPSTREAM_URL: service.url,
    KEYTRAIL_TOKEN: TOKEN,
  });
  expect(await command.status).toBe(0);
});
afterAll(() => rm(folder, { recursive: true }));

/** Starts a service that fails in a way. */
async function startFailing(way: Way): Promise<AsyncDisposable & { readonly url: string }> {
  if (typeof way !== 'function' && 'raw' in way)
    return startRawService((socket) => void socket.end(way.raw));
  const service = await startService((_, response) => {
    if (typeof way === 'function') way(response);
    else if ('settings' in way) return way.response.status === 599 ? undefined : way.response;
    else if (!('url' in way) && !('raw' in way)) return way;
    return undefined;
  });
  if (typeof way === 'function' || !('url' in way)) return service;
  const url = way.url === 'https:' ? service.url.replace('http:', 'https:') : way.url;
  return { ...service, url };
}

/** A command over a service that fails in a way. */
async function prepare(name: keyof typeof COMMANDS, way: Way, isRemote: boolean) {
  await using stack = new AsyncDisposableStack();
  const service = stack.use(await startFailing(way));
  const settings = typeof way === 'object' && 'settings' in way ? way.settings : {};
  const { UPSTREAM_TIMEOUT_MS, UPSTREAM_MAX_BYTES } = settings;
  const gateway = isRemote
    ? stack.use(
        await onPort(
          gatewayOver(service.url, {
            upstream: {
              ...(UPSTREAM_TIMEOUT_MS && { timeoutMs: Number(UPSTREAM_TIMEOUT_MS) }),
              ...(UPSTREAM_MAX_BYTES && { maxBytes: Number(UPSTREAM_MAX_BYTES) }),
            },
          }),
        ),
      )
    : null;
  const home = await mkdtemp(join(folder, 'home-'));
  const file = name === 'record' ? [join(home, 'new.har')] : name === 'check' ? [recording] : [];
  const to = gateway === null ? [] : ['--gateway', gateway.url];
  const kept = stack.move();
  return {
    args: [...COMMANDS[name], ...file, ...to],
    environment: {
      ...(gateway === null && { UPSTREAM_URL: service.url, ...settings }),
      ...(name === 'login' ? { HOME: home } : { KEYTRAIL_TOKEN: TOKEN }),
    },
    stdin: SECRET,
    [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose](),
  };
}

async function run(...given: Parameters<typeof prepare>) {
  await using prepared = await prepare(...given);
  const { args, environment, stdin } = prepared;
  await using command = keytrailInProcess(args, environment, stdin, {}, NO_PAUSES);
  const status = await command.status;
  const { stdout, stderr } = command.output;
  return { status, stdout: normalize(stdout), stderr: normalize(stderr) };
}

/** The same in a pseudo terminal. */
async function runAllInTerminal(name: keyof typeof COMMANDS, isRemote: boolean) {
  await using stack = new AsyncDisposableStack();
  const all = await Promise.all(
    Object.values(WAYS).map(async (way) => stack.use(await prepare(name, way, isRemote))),
  );
  const ended = await runInTerminal(all);
  return ended.map(({ status, text }) => ({ status, stdout: '', stderr: normalize(text) }));
}

const normalize = (text: string) =>
  text
    .replaceAll(folder, 'FOLDER')
    .replace(/FOLDER\/home-\w+/g, 'FOLDER')
    .replace(/127\.0\.0\.1:\d+/g, 'HOST')
    .replace(/[\da-f]{8}-[\da-f-]{27}/g, 'ID')
    .replace(/ci-bot-[\w-]{12}\.json/g, 'ci-bot.json');

const NO_PAUSES = { pause: async () => {} };

/** The message of a failure, on one line, without the lines of waits before it. Of `delete-key` also that of the key. */
const messageOf = ({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }) =>
  `${stderr.replace(/^.*: waiting .*\n/gm, '').replace(/\n {2}/g, ' ')}${stdout}`
    .replaceAll('\t', ' ')
    .trim();

const REQUEST = /(?:GET|POST|DELETE) \/api\/v1\/(?:audit|auth\/login|secrets\/k-1)/;

/** What a person can do. */
const NEXT =
  /\b(?:run|check|set|ask|wait|tell|raise|log in|give|turn|report|use|map|correct|save|read)\b/i;

/** The message of a failure, and of `delete-key` that of the key. Nothing else is known of the trail, logins or keys. */
const ONLY_FAILURE = /^keytrail [a-z-]+: .*$|^[A-Z_]+ k-1 .*$/;

describe.each(Object.keys(COMMANDS) as (keyof typeof COMMANDS)[])('%s', (name) => {
  const isClient = /^(?:audit|login|delete-key|status)$/.test(name);
  it.each(isClient ? [false, true] : [false])(
    'says of each failure what failed, why and what to do next, and nothing else, also on a terminal; through a gateway: %s',
    async (isRemote) => {
      const list: string[] = [];
      const inTerminal = await runAllInTerminal(name, isRemote);
      for (const [index, [title, way]] of Object.entries(WAYS).entries()) {
        const result = await run(name, way, isRemote);
        const message = messageOf(result);
        const shown = inTerminal[index] ?? { ...result, stderr: '' };
        const onOneLine = (text: string) => text.replaceAll(/\s+/g, ' ');
        expect(onOneLine(messageOf(shown)), `${title}, on a terminal`).toBe(onOneLine(message));
        expect(shown.status, title).toBe(result.status);
        list.push(`${title} → ${result.status}\n  ${message}\n`);
        expect(message, title).not.toContain('canary');
        if (result.status === 0) continue; // a deletion that is done, or a login that has a token
        expect(message, title).not.toMatch(/`/);
        if (name === 'check' && result.status === 1) continue; // drift
        expect(message, title).toMatch(NEXT);
        if (name === 'learn' && result.status === 2) continue; // a response of which it learns nothing
        expect([3, 4, 6], title).toContain(result.status);
        expect(message, title).toMatch(ONLY_FAILURE);
        expect(message, title).toMatch(REQUEST);
        expect(message, title).toMatch(/HTTP \d{3}|\(\d{3}\)|\([A-Z_, ]+\)/);
      }
      const file = `failures-of-${name}${isRemote ? '-through-a-gateway' : ''}.txt`;
      await expect(list.join('\n')).toMatchFileSnapshot(join('failures', file));
    },
    120_000,
  );
});
