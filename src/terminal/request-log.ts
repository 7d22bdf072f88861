import type { Fetch } from '../client/request.ts';
import type { Attempt } from '../gateway/api/read-trail.ts';
import type { RunningProcess } from '../util/running-process.ts';
import type { CommandLine } from './command-line.ts';

/** What an operation does. */
export type OperationKind = 'login' | 'read' | 'deletion';

/** With what a command identifies itself: the token in KEYTRAIL_TOKEN, or the login that is kept in a file. */
export type Credential =
  | { readonly kind: 'variable' }
  | {
      readonly kind: 'session';
      readonly path: string;
      /** The command that logs in again. */
      readonly login: string;
      /** The command that removes a lock. */
      readonly logout: string;
    };

/** The last request, as far as it is known. Through a running gateway, those to the service are not seen. */
export type LastRequest = {
  /** The command that sent it. */
  readonly command: string;
  readonly operation: OperationKind;
  readonly method: string;
  /** Without a query. */
  readonly path: string;
  /** Whether a login was sent with a refresh token. */
  readonly isRenewal: boolean;
  /** Requests to the service, one after the other, that failed. 0: none was sent. */
  readonly attempts: number;
  /** The page of the trail that was requested, from 1 on. */
  readonly page: number;
  /** The HTTP status of the service. */
  readonly status?: number | undefined;
  /** Node's code of a connection that failed. */
  readonly cause?: string | undefined;
  /** Where a redirect leads to, without a query. */
  readonly location?: string | undefined;
  /** Of a running gateway. */
  readonly requestId?: string | undefined;
};

/** The requests of a command: for what it says of a failure, and for `--verbose`. */
export type RequestLog = {
  /** Takes note of a request to the service. */
  readonly onAttempt: (attempt: Attempt) => void;
  /** Returns a `fetch` that takes note of each operation. `gateway` is the URL of a running gateway. */
  readonly watch: (fetch: Fetch, gateway?: string) => Fetch;
  readonly last: () => LastRequest;
  /** The URL of the running gateway, if there is one. */
  readonly gateway: () => string | undefined;
  readonly credential: () => Credential | undefined;
  readonly setCredential: (credential: Credential) => void;
};

/** Paths of which the number is known. One request to a gateway leads to as many pages, if these have 10 events. */
const MAX_PAGES = 100;

/** The route of each kind of operation. */
const ROUTES = {
  login: ['POST', '/api/v1/auth/login'],
  read: ['GET', '/api/v1/audit'],
  deletion: ['DELETE', '/api/v1/secrets'],
} as const;

/** Creates the log of a command. With `--verbose` it writes a line for each request to stderr. */
export function createRequestLog(
  { stderr, now }: Pick<RunningProcess, 'stderr' | 'now'>,
  { command = 'serve', verbose: isVerbose }: Pick<CommandLine, 'command' | 'verbose'>,
): RequestLog {
  let operation: OperationKind = 'read';
  let isRenewal = false;
  let path: string | undefined; // of a deletion
  let last: Attempt | undefined; // of this operation
  let failed = { request: '', count: 0 };
  const pages = new Map<string, number>(); // the number of the page at each of the last paths of the trail
  let page = 0;
  let requestId: string | undefined;
  let gateway: string | undefined;
  let credential: Credential | undefined;

  const write = (...parts: readonly (string | undefined)[]) => {
    if (isVerbose) stderr.write(`${parts.filter((part) => part !== undefined).join('  ')}\n`);
  };
  const begin = (body: string) => {
    const { query, variables } = Object(JSON.parse(body));
    const { clientId, credential: given } = Object(variables);
    const name = /^\s*(?:\w+)\s+(\w+)/.exec(String(query))?.[1];
    operation = name === 'Login' ? 'login' : name === 'DeleteApiKey' ? 'deletion' : 'read';
    isRenewal = operation === 'login' && 'refreshToken' in Object(given);
    path = operation === 'deletion' ? `/${encodeURIComponent(clientId)}` : undefined;
    [last, requestId] = [undefined, undefined];
  };

  return {
    onAttempt: (attempt) => {
      const { method, status, isRetry, seconds, bytes, cause, code } = attempt;
      const request = `${method} ${attempt.path}`;
      const isDone = status !== undefined && status < 300;
      if (method === 'GET') {
        page = pages.get(attempt.path) ?? page + 1; // a repetition begins some pages before
        pages.set(attempt.path, page);
        const [, second] = pages.keys(); // the first one is read again and again
        if (pages.size > MAX_PAGES && second !== undefined) pages.delete(second);
      }
      const count = failed.request === request ? failed.count + 1 : 1;
      failed = isDone ? { request: '', count: 0 } : { request, count };
      last = attempt;
      write(
        `${method} ${hideValues(attempt.path)}`,
        status === undefined ? (cause ?? code) : `HTTP ${status}`,
        `${Math.round(seconds * 1000)} ms`,
        `${bytes} bytes`,
        count > 1 || isRetry ? `attempt ${Math.max(count, 2)}` : undefined,
      );
    },
    watch: (fetch, url) => {
      gateway = url;
      return async (to, init) => {
        begin(init.body);
        if (url === undefined) return fetch(to, init);
        const begun = now().getTime();
        const label = `POST ${new URL(to).pathname}`;
        const ms = () => `${now().getTime() - begun} ms`;
        try {
          const response = await fetch(to, init);
          requestId = response.headers?.get('x-request-id') ?? undefined;
          const length = response.headers?.get('content-length');
          write(
            label,
            `HTTP ${response.status}`,
            ms(),
            length ? `${length} bytes` : undefined,
            requestId === undefined ? undefined : `request ID ${requestId}`,
          );
          return response;
        } catch (error) {
          write(label, String(Object(Object(error).cause).code ?? 'no response'), ms());
          throw error;
        }
      };
    },
    last: () => {
      const [method, route] = ROUTES[operation];
      return {
        ...{ command, operation, method, isRenewal, requestId },
        path: last?.path.replace(/\?.*/s, '') ?? `${route}${path ?? ''}`,
        attempts: last === undefined ? 0 : Math.max(failed.count, 1),
        page: Math.max(page, 1),
        status: last?.status,
        cause: last?.cause,
        location: withoutQuery(last?.location),
      };
    },
    gateway: () => gateway,
    credential: () => credential,
    setCredential: (given) => {
      credential = given;
    },
  };
}

/** Shows of a query its names, and the values that are a number or a time: any other may be secret. */
function hideValues(path: string): string {
  const [before = '', query] = path.split(/\?(.*)/s);
  if (query === undefined) return before;
  const shown = query.split('&').map((parameter) => {
    const [name = '', value] = parameter.split(/=(.*)/s);
    if (value === undefined) return '…';
    return `${name}=${isNumberOrTime(value) && !SECRET.test(name) ? value : '…'}`;
  });
  return `${before}?${shown.join('&')}`;
}

const isNumberOrTime = (value: string) =>
  /^(?:\d{1,10}|\d{4}-\d\d-\d\d(?:T[\d:.%A]*Z?)?)$/.test(value);

/** Names of parameters whose numbers may be secret, too. */
const SECRET = /key|token|secret|pass|pin|code|otp|auth|sig/i;

function withoutQuery(location: string | undefined): string | undefined {
  return location?.replace(/[?#].*/s, '').replace(/\/\/[^/]*@/, '//');
}
