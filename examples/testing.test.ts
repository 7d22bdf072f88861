import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditDocument, DeleteApiKeyDocument, request } from 'keytrail/client';
import { createTestbed } from 'keytrail/testing';

test('a deletion shows in the trail', async () => {
  await using keytrail = await createTestbed();

  const deletion = await keytrail.request(DeleteApiKeyDocument, { clientId: 'demo-old-ci' });
  assert.equal(deletion.data?.deleteApiKey?.outcome, 'DELETED');

  const filter = { actions: ['key.delete'] };
  const trail = await keytrail.request(AuditDocument, { first: 1, filter });
  assert.equal(trail.data?.audit?.nodes[0]?.target?.identifier, 'demo-old-ci');

  const sent = keytrail.requests.map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual(sent, ['DELETE /api/v1/secrets/demo-old-ci', 'GET /api/v1/audit']);
});

test('the responses of the service can be scripted', async () => {
  await using keytrail = await createTestbed({ upstream: { timeoutMs: 1000 } });
  keytrail.respondNext(
    { status: 429, headers: { 'retry-after': '7' } },
    { body: { events: [{ action: 'made.up' }] } },
    { delayMs: 3000 },
    { lost: 'before' }, // the key is deleted, but the response is lost
  );

  const busy = await keytrail.request(AuditDocument, {});
  assert.equal(busy.errors?.[0]?.extensions?.code, 'RATE_LIMITED');
  assert.equal(busy.errors?.[0]?.extensions?.retryAfterSeconds, 7);

  const scripted = await keytrail.request(AuditDocument, {});
  assert.equal(scripted.data?.audit?.nodes[0]?.action, 'made.up');

  const late = await keytrail.request(AuditDocument, {});
  assert.equal(late.errors?.[0]?.extensions?.code, 'UPSTREAM_TIMEOUT');

  const lost = await keytrail.request(DeleteApiKeyDocument, { clientId: 'demo-old-ci' });
  assert.equal(lost.errors?.[0]?.extensions?.code, 'OUTCOME_UNKNOWN');
});

test('a client can use the URL', async () => {
  await using keytrail = await createTestbed();
  const { url, accessToken: token } = keytrail;
  const { data } = await request(AuditDocument, { first: 1 }, { url, token });
  assert.equal(data?.audit?.nodes[0]?.action, 'client.login');
});
