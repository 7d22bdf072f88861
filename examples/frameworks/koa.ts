import { once } from 'node:events';
import { createGateway, createSandbox } from 'keytrail';
import Koa from 'koa';
import bodyParser from 'koa-bodyparser';

await using service = await createSandbox(); // or use the URL of your service
await using gateway = createGateway({ upstream: { url: service.url } });

const app = new Koa();
app.use(bodyParser()); // may be before Keytrail
app.use(async (ctx, next) => {
  if (ctx.path !== '/graphql') return next();
  ctx.respond = false; // Keytrail writes the response
  const { body, originalUrl } = ctx.request;
  await gateway.handle(Object.assign(ctx.req, { body, originalUrl }), ctx.res);
});
app.use((ctx) => {
  ctx.body = 'the program’s own';
});

const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = Object(server.address());
for (const path of ['/graphql?query={__typename}', '/health']) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  console.log(response.status, await response.text());
}
server.close();
