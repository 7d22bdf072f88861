import { createServer } from 'node:http';
import { createGateway, createSandbox } from 'keytrail';

await using service = await createSandbox(); // or use the URL of your service
await using gateway = createGateway({ upstream: { url: service.url }, introspection: true });

// `gateway.fetch` takes the same arguments as the global `fetch`. It needs no port.
const request = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{"query": "{ audit { totalCount } }"}',
};
const response = await gateway.fetch('http://keytrail/graphql', request);
const { errors } = Object(await response.json());
console.log(response.status, errors[0].extensions.code);

// `gateway.handle` is a request listener for a Node server.
const server = createServer(gateway.handle).listen(0, '127.0.0.1', async () => {
  const { port } = Object(server.address());
  const { status } = await fetch(`http://127.0.0.1:${port}/graphql`, request);
  console.log(status);
  server.close();
});
await new Promise((closed) => server.once('close', closed));
