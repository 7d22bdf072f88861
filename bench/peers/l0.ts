import { createServer } from 'node:http';
import { type Dispatcher, Pool } from 'undici';

/* L0, the practical limit of Node: a reverse proxy that streams the body. */
const { UPSTREAM_URL = '', PORT } = process.env;
const pool = new Pool(UPSTREAM_URL, { connections: 64 });
const server = createServer((request, response) => {
  let body: Dispatcher.DispatchController | undefined;
  response.on('drain', () => body?.resume());
  response.on('close', () => {
    if (!response.writableFinished) body?.abort(new Error('The caller has left.'));
  });
  pool.dispatch(
    {
      path: request.url ?? '',
      method: request.method === 'DELETE' ? 'DELETE' : 'GET',
      headers: { authorization: request.headers.authorization },
    },
    {
      onRequestStart: (controller) => {
        body = controller;
      },
      onResponseStart: (_, status, headers) => void response.writeHead(status, headers),
      onResponseData: (controller, chunk) => {
        if (!response.write(chunk)) controller.pause();
      },
      onResponseEnd: () => void response.end(),
      onResponseError: () => void response.destroy(),
    },
  );
});
server.listen(Number(PORT), '127.0.0.1');
