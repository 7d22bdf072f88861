import { randomUUID } from 'node:crypto';
import express from 'express';
import { createGateway, createSandbox } from 'keytrail';
import { createSession, type Session } from 'keytrail/client';

await using service = await createSandbox(); // or use the URL of your service
const sessions = new Map<string, Session>(); // by the cookie of a user; they log in again after a restart

await using gateway = createGateway({
  upstream: { url: service.url },
  authorization: async ({ headers }: express.Request) => {
    const [, id = ''] = /(?:^|; )session=([\w-]+)/.exec(headers.cookie ?? '') ?? [];
    const session = sessions.get(id);
    return session ? `Bearer ${await session.token()}` : null; // renewed when it expires
  },
});

const app = express();
app.use(gateway.handle);
app.post('/login', express.json(), async (request, response) => {
  const { clientId, clientSecret } = request.body;
  const url = 'http://keytrail/graphql'; // no port is needed
  const session = createSession({ clientId, clientSecret, url, fetch: gateway.fetch });
  await session.token(); // rejects if the service refuses the secret
  const id = randomUUID();
  sessions.set(id, session);
  response.cookie('session', id, { httpOnly: true, secure: true, sameSite: 'lax' }).end();
});

const server = app.listen(0, '127.0.0.1');
await new Promise((listening) => server.once('listening', listening));
const { port } = Object(server.address());
const post = (path: string, body: object, cookie = '') =>
  fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie },
    body: JSON.stringify(body),
  });
const secret = { clientId: 'demo-reports', clientSecret: 'demo-reports-secret-c07b43de' };
const login = await post('/login', secret);
const [cookie = ''] = login.headers.get('set-cookie')?.split(';') ?? [];
for (const sent of [cookie, 'session=unknown']) {
  const response = await post('/graphql', { query: '{ audit(first: 1) { totalCount } }' }, sent);
  const { data, errors } = Object(await response.json());
  console.log(errors?.[0].extensions.code ?? `${data.audit.totalCount} events`);
}
server.close();
