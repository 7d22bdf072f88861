import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { keytrailInProcess, type RunningCommand, startInTerminal } from '../helpers/process.ts';
import { sendRaw } from '../helpers/raw-socket.ts';
import { startService } from '../helpers/service.ts';

const NOWHERE = 'http://127.0.0.1:9';
const SECRET = 'c4n4ry';
const GRAPHQL = /GraphQL +(http:\/\/127\.0\.0\.1:\d+\/graphql)/;

async function send(url: string, query: string, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer t', ...headers },
    body: JSON.stringify({ query }),
  });
  await response.text();
}

/** The lines of the log on the screen, without colours, once there are `count` lines. */
async function readLog({ output }: RunningCommand, count: number): Promise<readonly string[]> {
  const read = () =>
    stripVTControlCharacters(output.stdout)
      .split('\r\n')
      .filter((line) => /^\d\d:/.test(line));
  await expect.poll(() => read().length).toBe(count);
  return read();
}

describe('the log in a terminal', () => {
  it('has one line of at most 100 columns for each request, with a coloured level', async () => {
    await using service = await startService(({ method }) =>
      method === 'GET' ? { status: 500 } : { body: { access_token: SECRET, expires_in: 60 } },
    );
    const settings = { PORT: '0', UPSTREAM_URL: service.url };
    await using process = startInTerminal(settings, ['serve']);
    const [, url = ''] = await process.until(GRAPHQL);
    const login = `login(clientId: "${SECRET}", credential: {clientSecret: "${SECRET}"}) { expiresAt }`;
    await send(url, `mutation { ${login} }`);
    await send(url, '{ audit { totalCount } __typename }', { 'x-request-id': 'router-7f3a' });
    await send(url, `{ ${SECRET} }`);
    await fetch(new URL(`/${SECRET}`, url));
    expect(await readLog(process, 4)).toEqual([
      expect.stringMatching(/^[\d:]{8} INFO {2}mutation login {9}200 +[\d.]+ ms [\da-f]{8}$/),
      expect.stringMatching(
        /^[\d:]{8} WARN {2}query audit,__typename 200 UPSTREAM_ERROR +[\d.]+ ms router-7f3a$/,
      ),
      expect.stringMatching(
        /^[\d:]{8} INFO {2}POST \/graphql {10}200 GRAPHQL_VALIDATION_FAILED +[\d.]+ ms [\da-f]{8}$/,
      ),
      expect.stringMatching(
        /^[\d:]{8} INFO {2}GET \/\* {17}404 BAD_REQUEST +[\d.]+ ms [\da-f]{8}$/,
      ),
    ]);
    for (const line of await readLog(process, 4)) expect(line).toHaveLength(100);
    const { stdout } = process.output;
    expect(stdout).toContain(' \x1b[33mWARN\x1b[39m  query');
    expect(stdout).not.toContain(SECRET);
  });

  it('has a line when the circuit breaker opens', async () => {
    await using process = startInTerminal({ PORT: '0', UPSTREAM_URL: NOWHERE }, ['serve']);
    const [, url = ''] = await process.until(GRAPHQL);
    for (let round = 0; round < 25; round += 1) await send(url, '{ audit { totalCount } }');
    const lines = await readLog(process, 26);
    expect(lines.filter((line) => !line.includes('query audit'))).toEqual([
      expect.stringMatching(/^[\d:]{8} WARN {2}circuit breaker open: .+; check the service$/),
    ]);
    expect(lines.filter((line) => line.includes(' WARN  query audit '))).toHaveLength(25);
    expect(lines.join()).toContain(' UPSTREAM_UNAVAILABLE ECONNREFUSED ');
  });

  it('has no colours with NO_COLOR, and no lines below LOG_LEVEL', async () => {
    const settings = { PORT: '0', UPSTREAM_URL: NOWHERE, NO_COLOR: '1', LOG_LEVEL: 'warn' };
    await using process = startInTerminal(settings, ['serve']);
    const [, url = ''] = await process.until(GRAPHQL);
    await send(url, '{ __typename }');
    await send(url, '{ audit { totalCount } }');
    expect(await readLog(process, 1)).toEqual([expect.stringContaining(' WARN  query audit ')]);
    expect(process.output.stdout).not.toContain('\x1b');
  });

  it('gets no control character from a client', async () => {
    await using process = startInTerminal({ PORT: '0', UPSTREAM_URL: NOWHERE, NO_COLOR: '1' }, [
      'serve',
    ]);
    const [, url = ''] = await process.until(GRAPHQL);
    const head = `GET /%1b%5b2J%9b2J HTTP/1.1\r\nhost: a\r\nx-request-id: \x9b2J\r\n`;
    await sendRaw(url, `${head}connection: close\r\n\r\n`);
    expect(await readLog(process, 1)).toEqual([expect.stringContaining(' GET /* ')]);
    expect(process.output.stdout).toMatch(/^[\x20-\x7e…\r\n]*$/);
  });
});

describe('the log of a pipe', () => {
  it('is JSON, with the time in UTC', async () => {
    await using process = keytrailInProcess([], { PORT: '0', UPSTREAM_URL: NOWHERE });
    const [, url = ''] = await process.until(GRAPHQL);
    await send(url, '{ __typename }');
    await process.until(/"msg":"request"/);
    expect(JSON.parse(process.output.stdout).time).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  });
});
