import { readFile, writeFile } from 'node:fs/promises';
import { AuditDocument, AuditEventsDocument, createSession } from 'keytrail-client';
import { fileTokens } from 'keytrail-client/file';

const session = createSession({
  url: 'http://127.0.0.1:4000/graphql',
  clientId: 'demo-admin',
  clientSecret: 'demo-admin-secret-5f2c9a71', // only for the first login
  tokens: fileTokens('tokens.json'),
});

const since = new Date().toISOString();
const { data } = await session.request(AuditDocument, { first: 1 });
console.log(data?.audit?.totalCount, 'events');

const after = await readFile('checkpoint.txt', 'utf8').catch(() => null); // null at the first start
const options = { after, onRetry: console.warn };
for await (const batch of session.follow(AuditEventsDocument, { filter: { since } }, options)) {
  if (batch.missed) console.warn('Events may have been missed.');
  for (const event of batch.nodes) console.log(event.action, event.outcome);
  await writeFile('checkpoint.txt', batch.checkpoint); // now that its events were handled
  if (batch.nodes.length > 0) break; // closes the connection
}
