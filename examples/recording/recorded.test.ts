import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditDocument } from 'keytrail/client';
import { createTestbed } from 'keytrail/testing';

test('the trail of the service is read as recorded', async () => {
  await using keytrail = await createTestbed({ recording: 'service.har' });
  const filter = { actions: ['key.create'] };
  const { data } = await keytrail.request(AuditDocument, { first: 10, filter });
  assert.equal(data?.audit?.nodes.length, 10);
  for (const { actor } of data?.audit?.nodes ?? []) assert.ok(actor?.identifier);
});
