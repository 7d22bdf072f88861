import { once } from 'node:events';
import { serve } from '@hono/node-server';
import { getConnInfo } from '@hono/node-server/conninfo';
import { Hono } from 'hono';
import { createGateway, createSandbox } from 'keytrail';

await using service = await createSandbox(); // or use the URL of your service
await using gateway = createGateway({ upstream: { url: service.url } });

const app = new Hono();
app.on(['GET', 'POST', 'OPTIONS'], '/graphql', (c) =>
  gateway.fetch(c.req.raw, { remoteAddress: getConnInfo(c).remote.address }),
);
app.get('/health', (c) => c.text('the program’s own'));

const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 });
await once(server, 'listening');
const { port } = Object(server.address());
for (const path of ['/graphql?query={__typename}', '/health']) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  console.log(response.status, await response.text());
}
server.close();
