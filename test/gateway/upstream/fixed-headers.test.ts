import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  AuditDocument,
  DeleteApiKeyDocument,
  LoginDocument,
} from '../../../src/client/operations.generated.ts';
import { createGateway } from '../../../src/index.ts';
import { ask, gatewayOver } from '../../helpers/gateway.ts';
import { keytrailInProcess } from '../../helpers/process.ts';
import { startService } from '../../helpers/service.ts';

const KEY = 'canary-api-key-0123456789';
const HEADERS = { 'ocp-apim-subscription-key': KEY, "x-it's`$HOME": 'canary; tenant="a b"' };

let folder: string;
let file: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keytrail-'));
  file = join(folder, 'headers.txt');
  const lines = Object.entries(HEADERS).map(([name, value]) => `${name.toUpperCase()}: ${value}`);
  await writeFile(file, `${lines.join('\r\n')}\r\n`);
});
afterAll(() => rm(folder, { recursive: true }));

const EXPECTED = Object.fromEntries(
  Object.entries(HEADERS).map(([name, value]) => [name.toLowerCase(), value]),
);

const EVENTS = [
  { id: 'e1', time: '2026-11-24T00:00:00Z', action: 'key.create' },
  { id: 'e2', time: '2026-11-23T00:00:00Z', action: 'key.delete' },
];

describe('the headers of UPSTREAM_HEADERS_FILE', () => {
  it('are sent with every call, and the client cannot change them', async () => {
    await using service = await startService({ body: { access_token: 'a' } });
    await using gateway = createGateway({ upstream: { url: service.url, headers: HEADERS } });
    const of = { token: 't', headers: { 'ocp-apim-subscription-key': 'of the client' } };
    await ask(gateway, AuditDocument, {}, of);
    await ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, of);
    await ask(gateway, LoginDocument, { clientId: 'k', credential: { clientSecret: 's' } });
    expect(service.seen.map(({ method }) => method)).toEqual(['GET', 'DELETE', 'POST']);
    for (const { headers } of service.seen) expect(headers).toMatchObject(EXPECTED);
    expect(service.seen[0]?.headers).toMatchObject({
      authorization: 'Bearer t',
      via: '1.1 keytrail',
    });
  });

  it.each(['UPSTREAM_HEADERS_FILE', '--upstream-headers-file'])(
    'are read from %s by serve, learn, record and check; no output and no recording has a value',
    async (name) => {
      await using service = await startService({ body: EVENTS });
      const to = join(folder, `${name}.har`);
      const [args, given] = name.startsWith('--') ? [[name, file], {}] : [[], { [name]: file }];
      const environment = { UPSTREAM_URL: service.url, KEYTRAIL_TOKEN: 't', ...given };
      const outputs: string[] = [];
      for (const command of [['learn'], ['record', '--to', to], ['check', '--from', to]]) {
        await using process = keytrailInProcess([...command, ...args], environment);
        expect(await process.status, process.output.stderr).toBe(0);
        outputs.push(process.output.stdout, process.output.stderr);
      }
      await using serve = keytrailInProcess(args, {
        ...environment,
        PORT: '0',
        LOG_LEVEL: 'trace',
      });
      const [, url = ''] = await serve.until(/(http:\/\/127\.0\.0\.1:\d+\/graphql)/);
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-keytrail-explain': '1',
          authorization: 'Bearer t',
        },
        body: '{"query": "{ audit { nodes { id } } }"}',
      });
      outputs.push(await response.text(), serve.output.stdout, serve.output.stderr);
      expect(service.seen).toHaveLength(4);
      for (const { headers } of service.seen) expect(headers).toMatchObject(EXPECTED);
      expect(outputs.join('') + (await readFile(to, 'utf8'))).not.toContain('canary');
    },
  );

  it('are never in a recording, even where the service returns them in a field that stays', async () => {
    const [first, ...more] = EVENTS;
    await using service = await startService({
      body: [{ ...first, action: 'canary.key' }, ...more],
    });
    const own = join(folder, 'own.txt');
    await writeFile(own, 'x-api-key: canary.key');
    const to = join(folder, 'own.har');
    await using process = keytrailInProcess(['record', '--to', to], {
      ...{ UPSTREAM_URL: service.url, KEYTRAIL_TOKEN: 't', UPSTREAM_HEADERS_FILE: own },
    });
    expect(await process.status).toBe(0);
    const written = await readFile(to, 'utf8');
    expect(written).toContain('key.delete');
    expect(written).not.toContain('canary');
  });

  it('are variables in the curl lines of explain, with which curl sends them', async () => {
    await using service = await startService({ body: EVENTS });
    await using gateway = gatewayOver(service.url, {
      explain: true,
      upstream: { headers: EXPECTED },
    });
    const explained = { token: 't', headers: { 'x-keytrail-explain': '1' } };
    const { text } = await ask(gateway, '{ audit { nodes { id } } }', {}, explained);
    expect(text).not.toContain('canary');
    const { curl } = JSON.parse(text).extensions.explain.calls[0];
    const [HEADER, HEADER_2] = Object.values(EXPECTED);
    const env = { PATH: '/usr/bin:/bin', TOKEN: 't', HEADER, HEADER_2 };
    await promisify(execFile)('sh', ['-c', `${curl} -sS`], { env });
    const [sent, repeated] = service.seen;
    expect(sent?.headers).toMatchObject(EXPECTED);
    expect(repeated?.headers).toMatchObject({ ...EXPECTED, authorization: 'Bearer t' });
  });

  it('are checked at the start, and problems have names without values', async () => {
    const wrong = join(folder, 'wrong.txt');
    await writeFile(wrong, 'Authorization: Basic canary\nx-tenant: canary\u0001\ncanary');
    await using process = keytrailInProcess([], { UPSTREAM_HEADERS_FILE: wrong });
    expect(await process.status).toBe(2);
    const { stderr } = process.output;
    expect(stderr).toContain('  - UPSTREAM_HEADERS_FILE must not have the header authorization:');
    expect(stderr).toContain('as the value of the header x-tenant.\n');
    expect(stderr).toContain(
      '  - UPSTREAM_HEADERS_FILE must have `name: value` in line 3, with a name that HTTP allows.',
    );
    expect(stderr).not.toContain('canary');
    await using missing = keytrailInProcess(['--upstream-headers-file', 'x-key: canary']);
    expect(await missing.status).toBe(2);
    expect(missing.output.stderr).toContain(
      '  - --upstream-headers-file must be the path of a text file that can be read.',
    );
  });
});
