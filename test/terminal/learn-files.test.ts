import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  describeNoBody,
  describeText,
  isErrorBody,
} from '../../src/terminal/learn/describe-file.ts';
import { keytrailInProcess, startInShell } from '../helpers/process.ts';
import { samplesOf } from '../shapes/shapes.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keytrail-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function learnFrom(content: string, ...others: readonly string[]) {
  const file = join(folder, `${Math.random()}.txt`);
  await writeFile(file, content);
  await using command = keytrailInProcess(['learn', '--from', file, ...others]);
  return { status: await command.status, ...command.output };
}

const RECORD = { id: 'e1', time: '2026-11-21T08:00:00Z', action: 'key.create', actor: 'ann' };
const ENTRY = {
  request: { method: 'GET', url: 'https://a.example/api/v1/audit' },
  response: { status: 200, headers: [], content: { text: JSON.stringify([RECORD]) } },
};

describe('learn, from a file that is no response', () => {
  it.each<[string, string, string]>([
    ['HTML', '\n<!DOCTYPE html>\n<html><body>Log in</body></html>', 'not JSON, but HTML'],
    ['HTML after a comment', '<!-- x\ny --><html>', 'not JSON, but HTML'],
    ['XML', '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', 'not JSON, but XML'],
    ['Markdown', '# Audit log\n\nGet it:\n\n```json\n[{"id": 1}]\n```\n', 'not JSON, but Markdown'],
    ['a table of Markdown', 'Fields\n\n| name | type |\n|---|---|\n', 'not JSON, but Markdown'],
    ['lines of JSON', '{"id": 1}\n{"id": 2}\n', 'not JSON, but lines of JSON'],
    ['CSV', 'id,time,action\n1,2026-11-21,a\n', 'not JSON, but CSV'],
    [
      'a head',
      'HTTP/1.1 200 OK\r\ncontent-type: a\r\n\r\n[]',
      'not JSON, but a response with its headers',
    ],
    ['a part of JSON', '{"events": [{"id": 1}, {"i', 'is not JSON that Keytrail can parse'],
    ['a contract', '{"audit": {"records": "/events"}}', 'is a contract, not a response'],
    ['a contract of a login', '{"login": {"accessToken": "/token"}}', 'is a contract'],
    [
      'a recording',
      JSON.stringify({ log: { version: '1.2', entries: [ENTRY] } }),
      'is a recording (HAR)',
    ],
    ['an empty recording', '{"log": {"entries": []}}', 'is a recording (HAR)'],
    ['an error', '{"error": {"code": 401, "message": "no token"}}', 'is an error response'],
    [
      'errors',
      '{"errors": [{"message": "no", "code": 1, "time": "2026-11-21T08:00:00Z"}]}',
      'is an error response',
    ],
    [
      'an OAuth error',
      '{"error": "invalid_client", "error_description": "no"}',
      'is an error response',
    ],
    [
      'a problem',
      '{"type": "about:blank", "title": "Forbidden", "status": 403}',
      'is an error response',
    ],
    ['a failure', '{"success": false, "message": "no"}', 'is an error response'],
  ])('says that it is %s', async (_, content, problem) => {
    const { status, stdout, stderr } = await learnFrom(content);
    expect(stderr.replace(/\s+/g, ' ')).toContain(problem);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  });

  it.each([
    ['its own recording', '$KEYTRAIL learn --from service.har', /recording \(HAR\)/],
    ['its own contract', '$KEYTRAIL learn --from contract.json', /contract, not a response/],
  ])('says that it is %s', async (_, command, problem) => {
    const response = join(folder, 'response.json');
    await writeFile(response, JSON.stringify([RECORD, { ...RECORD, id: 'e2' }]));
    await writeFile(join(folder, 'service.har'), JSON.stringify({ log: { entries: [ENTRY] } }));
    const script = `$KEYTRAIL learn --from ${response} > ${folder}/contract.json && ${command.replace('--from ', `--from ${folder}/`)}`;
    await using process = startInShell(script);
    expect(await process.status).toBe(2);
    expect(process.output.stderr).toMatch(problem);
  });

  it('learns from the others beside an error response, which it names', async () => {
    const other = join(folder, 'trail.json');
    await writeFile(other, JSON.stringify({ events: [RECORD, { ...RECORD, id: 'e2' }] }));
    const { status, stdout, stderr } = await learnFrom('{"errors": [{"message": "no"}]}', other);
    expect(stderr).toContain('is an error response');
    expect(status).toBe(0);
    expect(JSON.parse(stdout).audit.records).toBe('/events');
  });

  it('takes no audit trail and no login of a product for anything else', () => {
    for (const { name, response } of [...samplesOf('audit'), ...samplesOf('login')]) {
      expect(isErrorBody(response.body), name).toBe(false);
      expect(describeNoBody(response.body), name).toBeUndefined();
    }
  });

  it('takes most errors of products for errors', () => {
    const bodies = samplesOf('error').map(({ response }) => response.body);
    expect(bodies.filter(isErrorBody).length / bodies.length).toBeGreaterThan(0.6);
  });

  it('takes no record beside it for an error, and says something of any text', () => {
    fc.assert(
      fc.property(fc.json(), fc.string(), (json, text) => {
        expect(isErrorBody({ error: JSON.parse(json), events: [RECORD] })).toBe(false);
        expect(['string', 'undefined']).toContain(typeof describeText(text));
      }),
    );
  });
});
