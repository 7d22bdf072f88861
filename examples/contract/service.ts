// A service whose audit trail has unusual names, for docs/contracts.md.
// Run it: npx node examples/contract/service.ts
import { createServer } from 'node:http';

/** The pages of the trail, by the value of the query parameter `cursor`; the first page has none. */
const PAGES: Readonly<Record<string, object>> = {
  '': {
    rows: [
      {
        Ref: 8,
        When: '2026-11-20 16:07:30',
        Who: 'ann@example.com',
        Verb: 'key.delete',
        On: 'staging',
        From: '203.0.113.9',
      },
      {
        Ref: 7,
        When: '2026-11-20 16:05:00',
        Who: 'ann@example.com',
        Verb: 'client.login',
        On: 'portal',
        From: '203.0.113.9',
      },
    ],
    next_cursor: 'c2',
  },
  c2: {
    rows: [
      {
        Ref: 6,
        When: '2026-11-19 09:12:44',
        Who: 'ben@example.com',
        Verb: 'key.create',
        On: 'staging',
        From: '198.51.100.4',
      },
    ],
    next_cursor: null,
  },
};

const server = createServer(({ method, url = '', headers }, response) => {
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  const page = PAGES[searchParams.get('cursor') ?? ''];
  const isTrail = method === 'GET' && pathname === '/api/v1/audit' && page !== undefined;
  const status = headers.authorization === undefined ? 401 : isTrail ? 200 : 404;
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(status === 200 ? `${JSON.stringify(page)}\n` : undefined);
});
server.listen(4003, '127.0.0.1', () => {
  console.log('A service with an unusual audit trail: http://127.0.0.1:4003');
});
