import { writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { createSandbox } from '../../src/api/create-sandbox.ts';
import { keytrailInProcess } from '../helpers/process.ts';
import { createFolder } from '../helpers/recording.ts';

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
      expect(command.output.stderr).toContain('other.har" is not a recording of keytrail record.');
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
});
