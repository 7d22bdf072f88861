import express from 'express';
import { createGateway, createSandbox } from 'keytrail';

await using service = await createSandbox(); // or use the URL of your service
await using gateway = createGateway({ upstream: { url: service.url }, path: '/api/graphql' });

const app = express();
app.use(gateway.handle); // takes the requests to its path, and leaves all others to the program
app.get('/health', (_, response) => void response.send('the program’s own'));

const server = app.listen(0, '127.0.0.1');
await new Promise((listening) => server.once('listening', listening));
const { port } = Object(server.address());
for (const path of ['/api/graphql?query={__typename}', '/health']) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  console.log(response.status, await response.text());
}
server.close();
