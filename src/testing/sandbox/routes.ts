import type { IncomingHttpHeaders } from 'node:http';
import type { Recording } from '../../util/recording.ts';
import { playBack } from './play-back.ts';
import type { ClientInfo, Credential, Store } from './store.ts';

/** A request to the REST interface. */
export type RestRequest = {
  readonly method: string;
  /** Percent-encoded, without the query. */
  readonly path: string;
  /** The parameters of the query, decoded. One that occurs more than once has the list of its values. */
  readonly query: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Names are in lower case. */
  readonly headers: Readonly<IncomingHttpHeaders>;
  /** The parsed JSON body; undefined if there is none, it is not JSON or it is over 64 KiB. */
  readonly body: unknown;
};

const ROUTES = {
  'POST /api/v1/auth/login': /^POST \/api\/v1\/auth\/login$/,
  'GET /api/v1/audit': /^GET \/api\/v1\/audit$/,
  'DELETE /api/v1/secrets/{client_id}': /^DELETE \/api\/v1\/secrets\/([^/]+)$/,
} as const;

/** A route of the REST interface. */
export type RestRoute = keyof typeof ROUTES;

/** All routes. */
export const REST_ROUTES: readonly string[] = Object.keys(ROUTES);

/** Matches a request with a route. The first group of a deletion is the percent-encoded client ID. */
export function matchRoute(route: RestRoute, request: RestRequest): RegExpExecArray | null {
  return ROUTES[route].exec(`${request.method} ${request.path}`);
}

/** A response of the REST interface. */
export type RestResponse = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; undefined for a response without a body. */
  readonly body?: unknown;
};

/**
 * Responds to a request. The routes, the fields of a login's request and the bearer token are those of the real
 * service. Everything else is the sandbox's own choice. With a recording, reads are played back from it.
 */
export function respond(
  store: Store,
  request: RestRequest,
  ipAddress: string | null,
  recording?: Recording,
): RestResponse {
  const client: ClientInfo = {
    ipAddress: request.headers['x-forwarded-for']?.toString() ?? ipAddress,
    userAgent: request.headers['user-agent'] ?? null,
  };

  if (matchRoute('POST /api/v1/auth/login', request)) return login(store, request.body, client);

  const [, accessToken = ''] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
  const clientId = store.authenticate(accessToken);
  if (clientId === null) {
    return problem(401, 'The access token is missing, unknown or expired.', {
      'www-authenticate': 'Bearer',
    });
  }
  if (recording !== undefined && request.method === 'GET')
    return playBack(recording, request) ?? describeMissing(request);
  if (matchRoute('GET /api/v1/audit', request)) {
    const events = store.listEvents([request.query['action'] ?? []].flat());
    return { status: 200, body: { events, total: events.length } };
  }
  const [, key] = matchRoute('DELETE /api/v1/secrets/{client_id}', request) ?? [];
  if (key === undefined) return problem(404, 'There is no such route.');
  return store.deleteKey(decodeURIComponent(key), clientId, client)
    ? { status: 204 }
    : problem(404, 'There is no key with this client ID.');
}

/** Names the path and the parameters of a request that was not recorded, but not their values. */
function describeMissing({ path, query }: RestRequest): RestResponse {
  const names = Object.keys(query).join(', ');
  const parameters = names === '' ? '' : ` with the parameters ${names}`;
  return problem(
    404,
    `The recording has no response to GET ${path}${parameters}. Record more pages: keytrail record --to FILE --pages N, with the contract that is used here.`,
  );
}

/** An error response in the format of RFC 9457. */
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

function login(store: Store, body: unknown, client: ClientInfo): RestResponse {
  const { client_id: clientId, ...rest } =
    typeof body === 'object' && body !== null ? { client_id: undefined, ...body } : {};
  const credential = parseCredential(rest);
  if (typeof clientId !== 'string' || credential === null) {
    return problem(400, 'Send client_id with either client_secret or refresh_token, as JSON.');
  }
  const tokens = store.login(clientId, credential, client);
  if (tokens === null) {
    return problem(
      401,
      'The credential is wrong. With strict logins, the secret works once, then only the latest refresh token.',
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

function parseCredential(body: object): Credential | null {
  const secret = 'client_secret' in body ? body.client_secret : undefined;
  const refreshToken = 'refresh_token' in body ? body.refresh_token : undefined;
  if (typeof secret === 'string' && refreshToken === undefined) return { secret };
  if (typeof refreshToken === 'string' && secret === undefined) return { refreshToken };
  return null;
}
