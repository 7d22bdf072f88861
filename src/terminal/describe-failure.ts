import { OperationError, SessionLost } from '../client/errors.ts';
import { statusOf } from '../client/request.ts';
import { type ErrorCode, FAILURES, type FailureReason, GatewayError } from '../errors.ts';
import { ConfigError } from '../gateway/config/config-error.ts';
import type { ExitStatus } from './exit-status.ts';
import { LocalFailure } from './local-failure.ts';
import type { LastRequest, RequestLog } from './request-log.ts';
import { NotLoggedIn } from './session-file.ts';

/** An expected failure of a command, for people and for scripts. */
export type Failure = {
  /** A code of {@link FAILURES}, of a federation router, or one of {@link OWN_CODES}. */
  readonly code: string;
  /** What failed, why, and what to do next. Complete sentences, which quote no member of GraphQL. */
  readonly message: string;
  readonly exit: ExitStatus;
  /** Whether the same command may succeed later and is safe to repeat. */
  readonly retryable: boolean;
  readonly retryAfterSeconds: number | null;
  /** The HTTP status of the service, or else of the gateway. */
  readonly status: number | null;
  /** The method and the path of the last request. */
  readonly method: string | null;
  readonly path: string | null;
  /** Of a running gateway. */
  readonly requestId: string | null;
};

/** Codes of failures that are not those of an operation. */
export const OWN_CODES = {
  INVALID_USAGE: 'an option, a setting or a file is invalid',
  NOT_LOGGED_IN: 'there is no login and no KEYTRAIL_TOKEN',
  LOCAL_FAILURE: 'a file or the output could not be read or written',
  GATEWAY_UNREACHABLE: 'the running gateway was not reached',
  NOT_A_GATEWAY: 'what responded is no gateway of Keytrail',
} as const;

/** What of an error is read. */
type Extensions = OperationError['extensions'];

type Facts = LastRequest & {
  readonly reason: FailureReason | undefined;
  /** The HTTP status that the failure has. */
  readonly httpStatus: number | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** The message of the gateway. */
  readonly given: string;
  /** Where the service is set. */
  readonly setting: string;
  readonly credential: ReturnType<RequestLog['credential']>;
  /** Whether the login needs the client secret. */
  readonly needsSecret: boolean;
  /** Why a running gateway has not responded as one. */
  readonly transport: string | undefined;
};

/** Describes an expected failure; undefined for a bug. */
export function describeFailure(error: unknown, requests: RequestLog): Failure | undefined {
  const last = requests.last();
  const none = {
    ...{ retryable: false, retryAfterSeconds: null, status: null, method: null, path: null },
    requestId: null,
  } as const;
  if (error instanceof ConfigError)
    return { ...none, code: 'INVALID_USAGE', message: error.problems.join(' '), exit: 2 };
  if (error instanceof LocalFailure)
    return {
      ...{ ...none, code: 'LOCAL_FAILURE', message: error.message },
      ...{ retryable: true, exit: 1 },
    };
  if (error instanceof NotLoggedIn)
    return { ...none, code: 'NOT_LOGGED_IN', message: error.message, exit: 6 };
  const url = requests.gateway();
  const to = {
    ...{ method: last.method, path: last.path, requestId: last.requestId ?? null },
    status: last.status ?? null,
  };
  if (error instanceof SessionLost) {
    const { extensions, message: given = '' } = Object(error.cause);
    const facts = factsOf(requests, Object(extensions), given);
    const message = describeLostLogin({ ...facts, transport: describeTransport(error) });
    return { ...none, ...to, code: 'OUTCOME_UNKNOWN', message, exit: 4 };
  }
  if (error instanceof OperationError || error instanceof GatewayError) {
    const extensions: Extensions = error.extensions;
    const { code, retryAfterSeconds = null, upstream } = extensions;
    const isRetryable = error instanceof OperationError ? error.isRetryable : extensions.retryable;
    const needsSecret = error instanceof OperationError && error.needsSecret;
    const transport = describeTransport(error);
    const facts = { ...factsOf(requests, extensions, error.message), needsSecret, transport };
    if (code === undefined) {
      const cause = describeUnreachable(error.cause, url);
      const message = cause ?? withoutBackquotes(error.message);
      const own = cause === undefined ? 'NOT_A_GATEWAY' : 'GATEWAY_UNREACHABLE';
      return { ...none, ...to, code: own, message, retryable: isRetryable === true, exit: 3 };
    }
    return {
      ...{ ...to, code, message: describeCode(code, facts), retryable: isRetryable === true },
      ...{ retryAfterSeconds, status: upstream?.status ?? to.status },
      requestId: extensions.requestId ?? to.requestId,
      exit: exitOf(code, facts),
    };
  }
  const unreachable = describeUnreachable(error, url);
  if (unreachable !== undefined)
    return {
      ...{ ...none, code: 'GATEWAY_UNREACHABLE', message: unreachable, retryable: true },
      exit: 3,
    };
  const status = statusOf(error); // the response is not GraphQL, or a redirect
  if (status === undefined) return undefined;
  const message = `POST ${url ?? '/graphql'}: ${Object(error).message}`;
  return { ...none, ...{ code: 'NOT_A_GATEWAY', message, status, exit: 3 } };
}

function factsOf(
  requests: RequestLog,
  { reason, upstream, retryAfterSeconds }: Extensions,
  given: string,
): Facts {
  const last = requests.last();
  return {
    ...{ ...last, reason, retryAfterSeconds, given: withoutBackquotes(given) },
    httpStatus: upstream?.status ?? (requests.gateway() === undefined ? last.status : undefined),
    setting: requests.gateway() === undefined ? 'UPSTREAM_URL' : 'UPSTREAM_URL of the gateway',
    credential: requests.credential(),
    ...{ needsSecret: false, transport: undefined },
  };
}

/** A quoted entry or command is quoted as in prose. */
const withoutBackquotes = (text: string) => text.replaceAll('`', '"');

function exitOf(code: string, { operation, needsSecret, isRenewal }: Facts): ExitStatus {
  if (code === 'OUTCOME_UNKNOWN') return 4;
  const isRefusal = isRenewal || /^(?:UNAUTHENTICATED|FORBIDDEN|BAD_USER_INPUT)$/.test(code);
  if (code === 'UNAUTHENTICATED' || (operation === 'login' && needsSecret && isRefusal)) return 6;
  return 3;
}

/** What failed: the method, the path, the status, the page and the attempts. */
function describeRequest(code: string, facts: Facts): string {
  const { method, path, page, attempts, httpStatus, cause, operation, reason } = facts;
  const how = httpStatus !== undefined && httpStatus < 300 ? 'despite' : 'with';
  const status =
    httpStatus === undefined || cause !== undefined ? '' : ` ${how} HTTP ${httpStatus}`;
  const where = operation === 'read' && page > 1 ? ` on page ${page}` : '';
  const often = attempts > 1 ? `, after ${attempts} attempts` : '';
  const codes = reason === undefined ? code : `${code}, ${reason}`;
  const known = cause === undefined ? facts.transport : describeCause(cause);
  const why = known === undefined ? '' : `: ${known}`;
  return `${method} ${path} failed${status}${where}${often} (${codes})${why}.`;
}

function describeCode(code: string, facts: Facts): string {
  const describe: Description | undefined = Object.hasOwn(CODES, code)
    ? CODES[code as ErrorCode] // a key of the table
    : undefined;
  const { reason } = facts;
  const isRefusal =
    code === 'UNAUTHENTICATED' ||
    (facts.needsSecret && facts.isRenewal && facts.operation === 'login');
  // A body may report a status 4xx, which the code says.
  const isOfCode =
    code === 'OUTCOME_UNKNOWN' || (reason === 'SAYS_IT_FAILED' && code !== 'UPSTREAM_ERROR');
  const ofReason = reason === undefined || isOfCode ? undefined : REASONS[reason];
  const next = isRefusal
    ? describeRefusal(code, facts)
    : (ofReason ?? describe ?? (({ given }) => given))(facts);
  const id = facts.requestId === undefined ? '' : ` Request ID of the gateway: ${facts.requestId}.`;
  return isRefusal ? `${next}${id}` : `${describeRequest(code, facts)} ${next}${id}`;
}

type Description = (facts: Facts) => string;

const AGAIN = 'Run the command again; if it stays, tell those who run the service.';
const OTHER_VERSION =
  'The gateway does not accept what this command sends: check --gateway, and that both have the same version of Keytrail.';

/** Says to wait, and for how long if that is known. */
const wait: Description = ({ retryAfterSeconds: seconds }) =>
  seconds === undefined
    ? 'Wait a minute, then run the command again.'
    : `Wait ${seconds} ${seconds === 1 ? 'second' : 'seconds'}, then run the command again.`;

const checkUrl: Description = ({ setting }) =>
  `Check that the service is running, and that ${setting} is its base URL.`;

/** What each code means to a person, and what to do next. */
const CODES: Readonly<Record<ErrorCode, Description>> = {
  BAD_REQUEST: () => OTHER_VERSION,
  PERSISTED_QUERY_NOT_SUPPORTED: () => OTHER_VERSION,
  GRAPHQL_PARSE_FAILED: () => OTHER_VERSION,
  GRAPHQL_VALIDATION_FAILED: () => OTHER_VERSION,
  BAD_USER_INPUT: ({ operation, httpStatus, given }) => {
    if (httpStatus === undefined) return `It was refused before it was sent: ${given}`;
    if (operation === 'deletion') return 'The service rejected the deletion: check the ID.';
    if (operation === 'read')
      return 'The service rejected the request: check the parameters in the contract, and that the service has this page.';
    return 'The service rejected the login: check the ID and the secret.';
  },
  OPERATION_TOO_COMPLEX: ({ given }) => given,
  UNAUTHENTICATED: (facts) => describeRefusal('UNAUTHENTICATED', facts),
  FORBIDDEN: ({ operation }) =>
    operation === 'login'
      ? 'The service does not permit this login: check the secret, or ask for the permission.'
      : 'The service does not permit this: ask for the permission, or log in as another client.',
  NOT_FOUND: ({ operation, setting }) =>
    operation === 'deletion'
      ? `The service has no such key: it may be deleted already, or ${setting} is not its base URL.`
      : operation === 'login'
        ? `The service has no such client: check the ID, and that ${setting} is its base URL.`
        : `The service has no such page: check that ${setting} is its base URL.`,
  CONFLICT: () =>
    'It conflicts with the current state of the service: read the audit trail, then decide.',
  RATE_LIMITED: (facts) =>
    `${facts.httpStatus === undefined ? 'The gateway' : 'The service'} limits requests. ${wait(facts)}`,
  OVERLOADED: (facts) => `The gateway is overloaded, and nothing was sent. ${wait(facts)}`,
  UPSTREAM_TIMEOUT: ({ httpStatus }) =>
    httpStatus === undefined
      ? 'The service did not respond in time: run the command again, or raise UPSTREAM_TIMEOUT_MS.'
      : `A proxy before the service got no response in time. ${AGAIN}`,
  UPSTREAM_UNAVAILABLE: (facts) => {
    if (facts.retryAfterSeconds !== undefined && facts.attempts === 0)
      return `The service has failed repeatedly, and this request was not sent. ${wait(facts)}`;
    if (facts.setting !== 'UPSTREAM_URL')
      return `The gateway did not reach the service: its log has the cause. ${checkUrl(facts)}`;
    return findCause(facts.cause ?? '')?.[2] ?? checkUrl(facts);
  },
  UPSTREAM_ERROR: (facts) => {
    const { httpStatus: status = 500, retryAfterSeconds } = facts;
    if (retryAfterSeconds !== undefined) return wait(facts);
    if (status >= 500 || status === 408 || status === 425) return AGAIN;
    return `The service does not accept such a request: check ${facts.setting}, and whether it needs a header (UPSTREAM_HEADERS_FILE).`;
  },
  UPSTREAM_BAD_RESPONSE: (facts) => {
    const isDefault = facts.given === withoutBackquotes(FAILURES.UPSTREAM_BAD_RESPONSE);
    return isDefault ? `The response cannot be used. ${checkUrl(facts)}` : facts.given;
  },
  OUTCOME_UNKNOWN: (facts) => {
    const { operation, reason, given } = facts;
    if (operation === 'login') return describeLostLogin(facts);
    if (reason === 'FIELD_UNREAD') return given;
    return 'The key may be deleted: check with keytrail audit before you delete it again.';
  },
  INTERNAL_SERVER_ERROR: () =>
    'This is a bug of the gateway: report it, with the version and the request ID of its log.',
};

/** The message of the gateway, which names the entry of the contract. */
const asGiven: Description = ({ given }) => given;

/** What a reason means. It takes the place of what the code means. */
const REASONS: Readonly<Record<FailureReason, Description | undefined>> = {
  TOKEN_MISSING: undefined,
  TOKEN_MALFORMED: undefined,
  REDIRECT: ({ location, setting }) =>
    `The service redirects${location === undefined ? '' : ` to ${location}`}, which is not followed: if that is the service, set ${setting} to it, without the path after its base URL.`,
  TOO_LARGE: ({ given, operation }) =>
    given.includes('million items') && operation === 'read'
      ? 'The response has more than a million items, or too many members of objects: let the service limit its pages.'
      : 'The response is larger than UPSTREAM_MAX_BYTES: raise it, or let the service send smaller pages.',
  CONTENT_ENCODING: () =>
    'The response is compressed, although none was asked for: turn that off in the service or its proxy.',
  NOT_JSON: ({ setting }) =>
    `The response is not JSON, such as a page of a proxy or a login page: check that ${setting} is the base URL of the service.`,
  TOO_DEEP: ({ setting }) =>
    `The response is nested too deeply: check that ${setting} is the base URL of the service.`,
  TRUNCATED: () => `The connection was closed in the middle of the response. ${AGAIN}`,
  HEADERS_TOO_LARGE: () =>
    'The headers of the response are too large: set NODE_OPTIONS=--max-http-header-size=65536.',
  NOT_HTTP: ({ setting }) =>
    `What responded does not speak HTTP: check the port and the scheme of ${setting}.`,
  NO_TOKEN: asGiven,
  NO_RECORDS: asGiven,
  PAGING_UNKNOWN: asGiven,
  PAGING_REPEATS: asGiven,
  ORDER_UNKNOWN: asGiven,
  TRAIL_TOO_LONG: () =>
    'The trail begins with its oldest event, and its end cannot be reached: use --since, and name the parameter of the service for it in the contract ("audit.parameters.since").',
  FIELD_UNREAD: asGiven,
  SAYS_IT_FAILED: ({ operation, given }) =>
    operation === 'deletion'
      ? given
      : 'The response says that the request failed: ask those who run the service for the reason.',
  LOGIN_LIMIT: (facts) => `The gateway limits logins, and nothing was sent. ${wait(facts)}`,
};

/** What was refused: the token in KEYTRAIL_TOKEN, that of a session, a refresh token or a secret. */
function describeRefusal(code: string, facts: Facts): string {
  const { operation, isRenewal, httpStatus, credential, attempts, method, path, setting } = facts;
  const status =
    httpStatus === undefined
      ? ''
      : ` (${httpStatus < 300 ? `HTTP ${httpStatus}, but the response says so` : httpStatus})`;
  const request = `${method} ${path} (${code})`;
  if (operation === 'login' && !isRenewal)
    return `The service refused the client ID with this secret${status} for ${request}. Check both. A secret may be used up by the first login: then ask those who run the service for a new one.`;
  if (credential?.kind !== 'session')
    return `The service refused KEYTRAIL_TOKEN${status} for ${request}. Set a new access token, or unset it and log in with keytrail login.`;
  const session = `the session ${credential.path}`;
  const next =
    facts.command === 'login' ? 'Give the client secret.' : `Log in again: ${credential.login}`;
  if (operation === 'login')
    return `The service refused the refresh token of ${session}${status} for ${request}. ${next}`;
  if (facts.needsSecret)
    return attempts === 0 && httpStatus === undefined
      ? `The access token of ${session} has expired, and there is no refresh token (UNAUTHENTICATED). ${next}`
      : `The service refused the access token of ${session}${status} for ${request}, and there is no refresh token. ${next}`;
  return `The service refused the access token of ${session}${status} for ${request}, although it was just renewed: check that ${setting} leads to the service that issued it.`;
}

/** A login of which the outcome is unknown. */
function describeLostLogin(facts: Facts): string {
  const { isRenewal, credential, reason } = facts;
  const used = isRenewal ? 'refresh token' : 'secret';
  const session = credential?.kind === 'session' ? credential : undefined;
  const lock = session
    ? ` No command logs in before ${session.path}.lock is removed, as by ${session.logout}.`
    : '';
  const read = reason === 'NO_TOKEN' ? ` ${facts.given}` : '';
  return `${describeRequest('OUTCOME_UNKNOWN', { ...facts, reason })}${read} The login may have been carried out, and its ${used} may be used up: ask those who run the service whether it still works.${lock}`;
}

/** What Node's codes mean, and what to do about it. The first that matches counts. */
const CAUSES: readonly (readonly [code: RegExp, text: string, next?: string])[] = [
  [/^ECONNREFUSED$/, 'connection refused'],
  [/^ENOTFOUND$/, 'unknown host', 'Check the host name, and the name server.'],
  [/^EAI_AGAIN$/, 'the name server did not respond', 'Check the network.'],
  [/^E(?:HOST|NET)UNREACH$/, 'no route to the host', 'Check the network.'],
  [/^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'connection closed before the response', AGAIN],
  [/TIMEDOUT$|TIMEOUT$/, 'no connection in time'],
  [
    /^PROXY_|^UND_ERR_PRX_/,
    'the proxy did not connect',
    'Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY, and that the proxy permits this host.',
  ],
  [
    /^ERR_SSL_(?:WRONG_VERSION|PACKET_LENGTH)|^EPROTO$/,
    'the port does not speak TLS',
    'Check the port, or whether the URL must begin with http://.',
  ],
  [
    /^ERR_SSL_.*ALERT/,
    'the TLS connection was refused',
    'Check the client certificate (UPSTREAM_CERT_FILE, UPSTREAM_KEY_FILE) and the host name.',
  ],
  [/ALTNAME/, 'the certificate is for another host', 'Check the host name in the URL.'],
  [
    /EXPIRED|NOT_YET_VALID/,
    'the certificate has expired, or is not valid yet',
    'Tell those who run the service, and check the clock of this machine.',
  ],
  [
    /CERT|SELF_SIGNED|UNABLE_TO|ISSUER/,
    'the certificate is not trusted',
    'Set UPSTREAM_CA_FILE to the certificate of its authority.',
  ],
];

const findCause = (cause: string) => CAUSES.find(([code]) => code.test(cause));

function describeCause(cause: string): string {
  const [, text = 'no response'] = findCause(cause) ?? [];
  return `${text} (${cause})`;
}

/** Why a mutation has no result of the running gateway, by the causes of its error. */
function describeTransport(error: unknown): string | undefined {
  const { cause, name, message } = Object(error);
  const { code } = Object(cause);
  if (statusOf(error) !== undefined) return String(message).replace(/\.$/, '');
  if (name === 'TypeError' && typeof code === 'string') return describeCause(code);
  return cause === undefined ? undefined : describeTransport(cause);
}

/** Describes that the running gateway was not reached; undefined for any other error. */
function describeUnreachable(error: unknown, url: string | undefined): string | undefined {
  const { cause, name } = Object(error);
  const { code, isThroughProxy } = Object(cause);
  if (name !== 'TypeError' || typeof code !== 'string') return undefined;
  const [how, check] = isThroughProxy
    ? [' through the proxy', '--gateway, HTTPS_PROXY, HTTP_PROXY and NO_PROXY']
    : ['', '--gateway'];
  const [, text = 'no response'] = findCause(code) ?? [];
  return `The gateway could not be reached${how} (${code}): check ${check}. POST ${url}: ${text}.`;
}
