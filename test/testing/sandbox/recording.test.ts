import { writeFile } from 'node:fs/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSandbox } from '../../../src/testing/create-sandbox.ts';
import { playBack } from '../../../src/testing/sandbox/play-back.ts';
import { parseRecording } from '../../../src/util/recording.ts';
import { keytrailInProcess } from '../../helpers/process.ts';
import { createFolder } from '../../helpers/recording.ts';

/** A HAR with a response per URL, as another program may have written it. */
function toHar(bodies: Readonly<Record<string, unknown>>) {
  const entries = Object.entries(bodies).map(([url, body]) => ({
    request: { method: 'GET', url },
    response: { status: 200, headers: [], content: { text: JSON.stringify(body) } },
  }));
  return { log: { version: '1.2', entries } };
}

async function logIn(url: string): Promise<string> {
  const response = await fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    body: '{"client_id": "demo-admin", "client_secret": "demo-admin-secret-5f2c9a71"}',
  });
  return Object(await response.json()).access_token;
}

const BASE = 'https://service.example.com/base';

/** Expects that neither a program nor a command starts the sandbox, and that both name the problem. */
async function expectProblem(
  folder: Awaited<ReturnType<typeof createFolder>>,
  har: object,
  ...problems: readonly RegExp[]
) {
  const recording = await folder.write('service.har', har);
  const error: unknown = await createSandbox({ recording }).catch((error) => error);
  expect(error).toBeInstanceOf(TypeError);
  await using command = keytrailInProcess(['sandbox', '--recording', recording, '--port', '0']);
  expect(await command.status).toBe(2);
  for (const text of [String(error), command.output.stderr]) {
    for (const problem of problems) expect(text).toMatch(problem);
    expect(text).not.toContain('canary-cursor');
  }
}

describe('a sandbox with a recording', () => {
  it('plays back reads by path and query, with links that lead to itself', async () => {
    await using folder = await createFolder();
    const other = 'https://other.example.com/base/api/v1/audit?page=2';
    const recording = await folder.write(
      'service.har',
      toHar({
        [`${BASE}/api/v1/audit`]: { next: `${BASE}/api/v1/audit?b=2&a=1`, other },
        [`${BASE}/api/v1/audit?b=2&a=1&a=0`]: ['second'],
      }),
    );
    await using sandbox = await createSandbox({ recording });
    const headers = { authorization: `Bearer ${await logIn(sandbox.url)}` };
    const get = async (path: string) => await fetch(`${sandbox.url}${path}`, { headers });
    const first = await (await get('/api/v1/audit')).json();
    expect(first).toEqual({ next: `${sandbox.url}/base/api/v1/audit?b=2&a=1`, other });
    expect(await (await get('/api/v1/audit?a=0&a=1&b=2')).json()).toEqual(['second']);
    const missing = await get('/api/v1/audit?a=secret-value&b=2');
    expect(missing.status).toBe(404);
    const text = await missing.text();
    expect(JSON.parse(text).detail).toMatch(
      /^The recording has no response to GET \/api\/v1\/audit with the parameters a, b\. .*keytrail record/,
    );
    expect(text).not.toContain('secret-value');
  });

  it('handles logins and deletions itself, and rejects unknown tokens', async () => {
    await using folder = await createFolder();
    const recording = await folder.write('service.har', toHar({ [`${BASE}/api/v1/audit`]: [] }));
    await using sandbox = await createSandbox({ recording });
    const read = (token: string) =>
      fetch(`${sandbox.url}/api/v1/audit`, { headers: { authorization: `Bearer ${token}` } });
    expect((await read('unknown')).status).toBe(401);
    const token = await logIn(sandbox.url);
    expect((await read(token)).status).toBe(200);
    const deletion = await fetch(`${sandbox.url}/api/v1/secrets/demo-old-ci`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${token}` },
    });
    expect(deletion.status).toBe(204);
  });

  it('is not started with another file', async () => {
    await using folder = await createFolder();
    const recording = folder.pathOf('other.har');
    for (const text of ['', '{}', JSON.stringify(toHar({ 'https://a.example/b': [] }))]) {
      await writeFile(recording, text);
      await expect(createSandbox({ recording })).rejects.toThrow(TypeError);
      await using command = keytrailInProcess(['sandbox', '--recording', recording, '--port', '0']);
      expect(await command.status).toBe(2);
      expect(command.output.stderr).toContain(
        'other.har": This is not a recording of keytrail record.',
      );
    }
    await using command = keytrailInProcess(['sandbox', '--recording', folder.pathOf('none.har')]);
    expect(await command.status).toBe(2);
    expect(command.output.stderr).toMatch(/--recording ".*none\.har" cannot be read/);
  });

  it('is started by the command, and says that its data is recorded', async () => {
    await using folder = await createFolder();
    const recording = await folder.write('a.har', toHar({ [`${BASE}/api/v1/audit`]: ['one'] }));
    await using command = keytrailInProcess(['sandbox', '--recording', recording, '--port', '0']);
    const [, url = ''] = await command.until(/with recorded data: (http\S+)/);
    const headers = { authorization: `Bearer ${await logIn(url)}` };
    expect(await (await fetch(`${url}/api/v1/audit`, { headers })).json()).toEqual(['one']);
  });

  it.each<[string, readonly unknown[], RegExp]>([
    [
      'status',
      [0, 99, 199, 600, 1000, 200.5, -1, null, '200', undefined],
      /response\.status .* 200 to 599/,
    ],
    [
      'headers',
      [
        ...[
          undefined,
          'text',
          { a: 'b' },
          [null],
          ['a'],
          [{ name: 'a' }],
          [{ name: 'a', value: 1 }],
        ],
        ...['', ':status', 'a b', 'é', 'a\n'].map((name) => [{ name, value: 'b' }]),
        ...['a\nb', 'a\u0000', 'a\u0001b', '€', 'a\u007f'].map((value) => [{ name: 'a', value }]),
      ],
      /response\.headers must be pairs/,
    ],
    [
      'content',
      [undefined, null, 'a', { text: 5 }, { text: {} }, { text: null }, { encoding: 'gzip' }],
      /response\.content/,
    ],
  ])('is not started with an unusable %s, and names the entry', async (member, values, problem) => {
    await using folder = await createFolder();
    for (const value of values) {
      const har = toHar({
        [`${BASE}/api/v1/audit`]: [],
        [`${BASE}/api/v1/audit?cursor=canary-cursor`]: [],
      });
      Object.assign(har.log.entries[1]?.response ?? {}, { [member]: value });
      const entry = /log\.entries\[1\], GET \/base\/api\/v1\/audit: .* Correct it, or remove/;
      await expectProblem(folder, har, entry, problem);
    }
  });

  it.each([
    ...[undefined, null, 5, 'GET'].map((request) => ({ request })),
    ...[undefined, null, 5].map((url) => ({ request: { method: 'GET', url } })),
    ...[undefined, null, 5].map((method) => ({ request: { method, url: `${BASE}/api/v1/audit` } })),
    ...['http:///api/v1/audit', 'http://a b/api/v1/audit', 'http://a:99999/api/v1/audit'].map(
      (url) => ({ request: { method: 'GET', url } }),
    ),
  ])('is not started with %j in an entry, and names it', async (member) => {
    await using folder = await createFolder();
    const har = toHar({
      [`${BASE}/api/v1/audit`]: [],
      [`${BASE}/api/v1/audit?cursor=canary-cursor`]: [],
    });
    Object.assign(har.log.entries[1] ?? {}, member);
    await expectProblem(folder, har, /log\.entries\[1\][:,]/, /request/);
  });

  it('is not started with an entry that is none, or without a response', async () => {
    await using folder = await createFolder();
    for (const entry of [null, 5, 'a', {}, { request: { method: 'GET', url: `${BASE}/api/v1/a` } }])
      await expectProblem(folder, { log: { entries: [entry] } }, /log\.entries\[0\]/, /re/);
  });

  it('plays back what a browser saved: headers of compressed responses, with the decoded text or its base64', async () => {
    await using folder = await createFolder();
    const har = toHar({ [`${BASE}/api/v1/audit`]: [] });
    const sent = { 'content-encoding': 'gzip', 'Content-Length': '5', trailer: 'x-a', 'x-a': 'b' };
    const headers = Object.entries(sent).map(([name, value]) => ({ name, value }));
    const text = Buffer.from('["é"]').toString('base64');
    const content = { text, encoding: 'base64' };
    Object.assign(har.log.entries[0]?.response ?? {}, { headers, content });
    await using sandbox = await createSandbox({ recording: await folder.write('b.har', har) });
    const authorization = `Bearer ${await logIn(sandbox.url)}`;
    const response = await fetch(`${sandbox.url}/api/v1/audit`, { headers: { authorization } });
    expect(await response.json()).toEqual(['é']);
    expect(response.headers.get('x-a')).toBe('b');
    for (const name of ['content-encoding', 'trailer'])
      expect(response.headers.has(name)).toBe(false);
  });

  it('is not started with any other recording that cannot be played back', async () => {
    await using folder = await createFolder();
    const recording = folder.pathOf('any.har');
    const anything = fc.oneof(
      { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
      fc.constantFrom(99, 200, 204, 304, 404, 599, 1000, 'gzip', 'base64', '[]', 'a\nb', '\u0001'),
    );
    const header = fc.record({
      name: fc.constantFrom(
        ...['content-length', 'content-encoding', 'transfer-encoding', 'trailer', 'connection'],
        ...[
          'upgrade',
          'keep-alive',
          'te',
          'date',
          'set-cookie',
          'Content-Type',
          'a b',
          '__proto__',
        ],
      ),
      value: fc.constantFrom('chunked', 'gzip', 'close', '5', '1000', 'x-a', 'a\u0001', ''),
    });
    const response = fc.record({
      status: fc.oneof({ weight: 5, arbitrary: fc.constantFrom(200, 204, 404, 500) }, anything),
      headers: fc.oneof({ weight: 5, arbitrary: fc.array(header, { maxLength: 3 }) }, anything),
      content: fc.oneof(
        { weight: 5, arbitrary: fc.record({ text: fc.constantFrom('[1]', '') }) },
        fc.record({ text: anything, encoding: anything }, { requiredKeys: [] }),
        anything,
      ),
    });
    await fc.assert(
      fc.asyncProperty(response, async (recorded) => {
        const request = { method: 'GET', url: `${BASE}/api/v1/audit` };
        const har = { log: { entries: [{ request, response: recorded }] } };
        await writeFile(recording, JSON.stringify(har));
        const isRefused = (error: unknown) =>
          error instanceof TypeError && error.message.includes('log.entries[0]');
        const started = await createSandbox({ recording }).catch(isRefused);
        if (typeof started === 'boolean') return started;
        await using sandbox = started;
        const headers = { authorization: `Bearer ${await logIn(sandbox.url)}` };
        const played = await fetch(`${sandbox.url}/api/v1/audit`, { headers });
        const { text = '', encoding } = Object(recorded.content);
        const body = encoding === 'base64' ? Buffer.from(text, 'base64').toString() : text;
        expect(played.status).toBe(recorded.status);
        const hasBody = played.status !== 204 && played.status !== 304;
        expect(await played.text()).toBe(hasBody ? body : '');
        return true;
      }),
      { numRuns: 300, examples: [[{ status: 200, headers: [], content: { encoding: 'base64' } }]] },
    );
  });

  /** The pattern whose result is right, and whose time is quadratic. */
  const LINKS = /(https?:\/\/[^"<>/?]+)(\/[^"<>?]*)\?/g;

  it('replaces the links that a pattern for each would find', () => {
    const part = fc.constantFrom(
      ...[
        'https://service.example.com',
        'http://other.example',
        '/base',
        '/api/v1/audit',
        '?',
        '/',
      ],
      ...['https://', 'http://', 'http:', '"', '<', '>', ' ', 'page=2', '\\', '\n', 'é', ','],
      ...[`${BASE}/api/v1/audit?page=2`, `<${BASE}/api/v1/audit?page=3>; rel="next"`],
    );
    const request = { method: 'GET', path: '/api/v1/audit', query: {}, body: undefined };
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const body = parts.join('');
        const recording = parseRecording(JSON.stringify(toHar({ [`${BASE}/api/v1/audit`]: body })));
        const { origin, pathname } = new URL(`${BASE}/api/v1/audit`);
        const expected = JSON.stringify(body).replace(LINKS, (link, from, to) =>
          from === origin && (pathname.endsWith(to) || to.endsWith('/api/v1/audit'))
            ? `http://sandbox${to}?`
            : link,
        );
        const played = playBack(recording, { ...request, headers: { host: 'sandbox' } });
        expect(played?.body).toBe(expected);
      }),
      { numRuns: 5000 },
    );
  });

  it.each([
    'http://a/',
    'http://',
    'http://a',
    'https://a.b/?',
    '/',
    '?',
    'http',
    '"',
    '<http://a/',
  ])('plays back 2 MB of %j', (part) => {
    const body = part.repeat(2_000_000 / part.length);
    const recording = parseRecording(JSON.stringify(toHar({ [`${BASE}/api/v1/audit`]: body })));
    const request = { method: 'GET', path: '/api/v1/audit', query: {}, body: undefined };
    const played = playBack(recording, { ...request, headers: { host: 'sandbox' } });
    expect(played?.body === JSON.stringify(body)).toBe(true);
  });
});
