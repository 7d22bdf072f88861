import { createServer } from 'node:http';
import { createGateway, createSandbox } from 'keytrail';

await using service = await createSandbox(); // or a service of your own
await using gateway = createGateway({ upstream: { url: service.url }, introspection: true });

// It takes requests as `fetch` does, and needs no port.
const question = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{"query": "{ audit { totalCount } }"}',
};
const answer = await gateway.fetch('http://keytrail/graphql', question);
const { errors } = Object(await answer.json());
console.log(answer.status, errors[0].extensions.code);

// It is a listener for a Node server of yours as well.
const server = createServer(gateway.handle).listen(0, '127.0.0.1', async () => {
  const { port } = Object(server.address());
  const ready = await fetch(`http://127.0.0.1:${port}/health/ready`);
  console.log(await ready.json());
  server.close();
});
await new Promise((closed) => server.once('close', closed));
