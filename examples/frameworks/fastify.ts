import Fastify from 'fastify';
import { createGateway, createSandbox } from 'keytrail';

await using service = await createSandbox(); // or use the URL of your service
await using gateway = createGateway({ upstream: { url: service.url } });

await using app = Fastify();
app.all('/graphql', async (request, reply) => {
  reply.hijack(); // Keytrail writes the response
  await gateway.handle(Object.assign(request.raw, { body: request.body }), reply.raw);
});

const origin = await app.listen({ host: '127.0.0.1', port: 0 });
const response = await fetch(`${origin}/graphql`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{"query": "{ __typename }"}',
});
console.log(response.status, await response.text());
