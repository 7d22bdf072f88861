import type { RestRequest } from './server.ts';
import type { Origin, Proof, Store } from './store.ts';

/** An answer of the REST interface. */
export type RestResponse = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON; left out for an answer without a body. */
  readonly body?: unknown;
};

/** Answers one request. What the service publishes of itself is kept; all else is the sandbox's own choice. */
export function respond(store: Store, request: RestRequest): RestResponse {
  const url = URL.parse(`http://sandbox${request.path}`);
  const route = `${request.method} ${url?.pathname}`;
  const origin: Origin = { ip: request.ip, userAgent: request.headers['user-agent'] ?? null };

  if (route === 'POST /api/v1/auth/login') return login(store, request.body, origin);

  const clientId = store.clientOf(
    /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '',
  );
  if (clientId === null) {
    return problem(401, 'The access token is missing, unknown or has ended.', {
      'www-authenticate': 'Bearer',
    });
  }
  if (route === 'GET /api/v1/audit') {
    const events = store.trail(url?.searchParams.getAll('action') ?? []);
    return { status: 200, body: { events, total: events.length } };
  }
  const key = /^DELETE \/api\/v1\/secrets\/([^/]+)$/.exec(route)?.[1];
  if (key === undefined) return problem(404, 'There is no such operation.');
  return store.deleteKey(decodeURIComponent(key), clientId, origin)
    ? { status: 204 }
    : problem(404, 'There is no key of this client id.');
}

/** An error in the form of RFC 9457. */
export function problem(
  status: number,
  detail: string,
  headers: RestResponse['headers'] = {},
): RestResponse {
  return {
    status,
    headers: { 'content-type': 'application/problem+json', ...headers },
    body: { type: 'about:blank', status, detail },
  };
}

function login(store: Store, body: unknown, origin: Origin): RestResponse {
  const { client_id: clientId, ...rest } =
    typeof body === 'object' && body !== null ? { client_id: undefined, ...body } : {};
  const proof = toProof(rest);
  if (typeof clientId !== 'string' || proof === null) {
    return problem(400, 'Send client_id with either client_secret or refresh_token, as JSON.');
  }
  const tokens = store.login(clientId, proof, origin);
  if (tokens === null) {
    return problem(
      401,
      'The credential is wrong, or used up: the secret is good for the first login, then the latest refresh token.',
    );
  }
  return {
    status: 200,
    body: {
      access_token: tokens.accessToken,
      token_type: 'Bearer',
      expires_in: tokens.expiresInSeconds,
      refresh_token: tokens.refreshToken,
    },
  };
}

function toProof(rest: object): Proof | null {
  const secret = 'client_secret' in rest ? rest.client_secret : undefined;
  const refreshToken = 'refresh_token' in rest ? rest.refresh_token : undefined;
  if (typeof secret === 'string' && refreshToken === undefined) return { secret };
  if (typeof refreshToken === 'string' && secret === undefined) return { refreshToken };
  return null;
}
