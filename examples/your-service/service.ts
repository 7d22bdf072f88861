// An awkward REST service with the three routes of Keytrail, for docs/your-service.md: nested tokens, wrapped records,
// times in milliseconds, and a cursor whose query parameter no response names.
// Run it: npx node examples/your-service/service.ts
// With --renamed it is its next version, in which a field of the records has another name.
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';

const CLIENT = { id: 'ops', secret: 'ops-secret-4d1f' };
const TOKEN_LIFE_MS = 15 * 60_000;
const PAGE_SIZE = 3;
const WHO = process.argv.includes('--renamed') ? 'principal_name' : 'who';

type Entry = Readonly<{ ts: number; who: string; verb: string; on: string; result: 'Y' | 'N' }>;

/** The trail, the newest entry first. */
const trail: Entry[] = [
  { ts: 1795190850000, who: 'ann', verb: 'KEY_CREATED', on: 'ci-bot', result: 'Y' },
  { ts: 1795190700000, who: 'ann', verb: 'SIGN_IN', on: 'ops', result: 'Y' },
  { ts: 1795104764000, who: 'ben', verb: 'KEY_REVOKED', on: 'staging', result: 'N' },
  { ts: 1795104702000, who: 'ben', verb: 'SIGN_IN', on: 'ops', result: 'Y' },
  { ts: 1795018322000, who: 'ann', verb: 'KEY_CREATED', on: 'old-ci', result: 'Y' },
  { ts: 1795018290000, who: 'ann', verb: 'SIGN_IN', on: 'ops', result: 'Y' },
  { ts: 1794931920000, who: 'ben', verb: 'KEY_CREATED', on: 'staging', result: 'Y' },
];
const keys = new Set(['ci-bot', 'old-ci', 'staging']);
const accessTokens = new Map<string, number>(); // with the time until which each is valid
const refreshTokens = new Set<string>();

type Result = readonly [status: number, body: object];

async function respond(request: IncomingMessage): Promise<Result> {
  const { method = '', url = '', headers } = request;
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  const route = `${method} ${pathname}`;
  if (route === 'POST /api/v1/auth/login') return logIn(await readBody(request));
  const token = headers.authorization?.replace(/^Bearer /, '') ?? '';
  if ((accessTokens.get(token) ?? 0) < Date.now()) return [401, { fault: 'token' }];
  if (route === 'GET /api/v1/audit') return readTrail(Number(searchParams.get('from') ?? 0));
  const [, key] = /^DELETE \/api\/v1\/secrets\/([^/]+)$/.exec(route) ?? [];
  return key === undefined ? [404, { fault: 'route' }] : revoke(decodeURIComponent(key));
}

function logIn(body: URLSearchParams): Result {
  const isKnown =
    body.get('client_secret') === CLIENT.secret ||
    refreshTokens.delete(body.get('refresh_token') ?? '');
  if (body.get('client_id') !== CLIENT.id || !isKnown) return [401, { fault: 'credential' }];
  const access = randomBytes(32).toString('base64url');
  const renewal = randomBytes(32).toString('base64url');
  const until = Date.now() + TOKEN_LIFE_MS;
  accessTokens.set(access, until);
  refreshTokens.add(renewal);
  return [200, { d: { auth: { access: { token: access, until }, renewal: { token: renewal } } } }];
}

function readTrail(from: number): Result {
  const rows = trail.slice(from, from + PAGE_SIZE).map(({ ts, who, verb, on, result }, index) => ({
    node: { no: trail.length - from - index, ts, [WHO]: who, verb, on, ok: result },
  }));
  const next = from + PAGE_SIZE;
  return [200, { d: { rows, next: next < trail.length ? String(next) : null } }];
}

function revoke(key: string): Result {
  const isRevoked = keys.delete(key);
  const result = isRevoked ? 'Y' : 'N';
  trail.unshift({ ts: Date.now(), who: 'ops', verb: 'KEY_REVOKED', on: key, result });
  return [200, { d: { state: isRevoked ? 'GONE' : 'ABSENT' } }];
}

async function readBody(request: IncomingMessage): Promise<URLSearchParams> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return new URLSearchParams(JSON.parse(Buffer.concat(chunks).toString()));
}

createServer((request, response) => {
  void respond(request)
    .catch((): Result => [400, { fault: 'request' }])
    .then(([status, body]) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(`${JSON.stringify(body)}\n`);
    });
}).listen(4003, '127.0.0.1', () => {
  console.log('An awkward service: http://127.0.0.1:4003');
});
