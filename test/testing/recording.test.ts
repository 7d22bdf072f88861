import { describe, expect, it } from 'vitest';
import {
  AuditDocument,
  DeleteApiKeyDocument,
  LoginDocument,
} from '../../src/client/operations.generated.ts';
import { createTestbed } from '../../src/testing/testbed.ts';
import { createFolder, runFor } from '../helpers/recording.ts';
import { startService } from '../helpers/service.ts';

const body = [
  { time: '2026-11-21T08:00:00Z', action: 'key.create', actor: { id: 'u-81', name: 'Ann Lee' } },
  { time: '2026-11-21T07:00:00Z', action: 'key.delete', actor: { id: 'u-82', name: 'Bob' } },
  { time: '2026-11-21T06:00:00Z', action: 'key.create', actor: { id: 'u-81', name: 'Ann Lee' } },
];

describe('a testbed with a recording', () => {
  it('reads the trail from it, filters by stand-ins, deletes, and takes scripted responses', async () => {
    await using service = await startService({ body });
    await using folder = await createFolder();
    const recording = folder.pathOf('service.har');
    await runFor(service.url, ['record', '--to', recording]);
    await using testbed = await createTestbed({ recording });

    const { data } = await testbed.request(AuditDocument, {});
    const names = data?.audit?.nodes.map(({ actor }) => actor?.name);
    expect(names).toEqual(['Bbb Bbc', 'Bbd', 'Bbb Bbc']);
    const filter = { actor: 'Bbb Bbc', actions: ['key.create'] };
    const filtered = await testbed.request(AuditDocument, { filter });
    expect(filtered.data?.audit?.nodes.map(({ occurredAt }) => occurredAt)).toEqual([
      '2026-11-21T08:00:00.000Z',
      '2026-11-21T06:00:00.000Z',
    ]);
    const deletion = await testbed.request(DeleteApiKeyDocument, { clientId: 'demo-old-ci' });
    expect(deletion.data?.deleteApiKey?.outcome).toBe('DELETED');
    testbed.respondNext({ status: 429 });
    const busy = await testbed.request(AuditDocument, {});
    expect(busy.errors?.[0]?.extensions?.code).toBe('RATE_LIMITED');
    expect(testbed.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      ...['GET /api/v1/audit', 'GET /api/v1/audit'],
      ...['DELETE /api/v1/secrets/demo-old-ci', 'GET /api/v1/audit'],
    ]);
    expect(service.seen).toHaveLength(1);
  });

  it('logs in at the sandbox, also with a contract that maps the login of the recorded service', async () => {
    await using service = await startService({ body });
    await using folder = await createFolder();
    const recording = folder.pathOf('service.har');
    await runFor(service.url, ['record', '--to', recording]);
    const contract = { login: { accessToken: '/data/jwt' } };
    await using testbed = await createTestbed({ recording, gateway: { contract } });
    const { data } = await testbed.request(AuditDocument, {});
    expect(data?.audit?.nodes).toHaveLength(3);
    const { clientId, refreshToken } = testbed;
    const login = await testbed.request(LoginDocument, { clientId, credential: { refreshToken } });
    expect(login.data?.login?.accessToken).toMatch(/./);
  });
});
