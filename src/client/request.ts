import { readRetryAfter } from '../errors.ts';
import { OperationError, type ResultError } from './errors.ts';
import type { Explanation } from './explanation.ts';
import type { DocumentTypeDecoration } from './typed-document.ts';

/** An operation as a string that carries the types of its data and variables, or any string. */
export type Document<Data, Variables> = DocumentTypeDecoration<Data, Variables> & {
  readonly length: number; // excludes parsed documents
  toString(): string;
};

/** The part of the global `fetch` that `request` uses. `gateway.fetch` is one, too. */
export type Fetch = (
  url: string,
  init: {
    readonly method: 'POST';
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
    readonly redirect: 'manual';
    readonly signal?: AbortSignal;
  },
) => Promise<FetchResponse>;

/** The part of a response that is used. A stream needs its headers and its body. */
export type FetchResponse = {
  readonly status: number;
  /** Of a redirect, browsers show only `opaqueredirect`: its status is 0, and its headers are empty. */
  readonly type?: string;
  readonly headers?: { get(name: string): string | null };
  readonly body?: {
    getReader(): {
      read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
    };
    cancel?(): Promise<unknown>;
  } | null;
  text(): Promise<string>;
};

/** The options of {@link request}. */
export type RequestOptions = {
  /** Access token, sent as `Authorization: Bearer …`. A login needs none. */
  readonly token?: string | undefined;
  /** URL of the GraphQL endpoint. @default http://127.0.0.1:4000/graphql */
  readonly url?: string | undefined;
  /** Default: the global `fetch`. */
  readonly fetch?: Fetch | undefined;
  /** Requests `extensions.explain`. The gateway ignores it if EXPLAIN is off, as in production. @default false */
  readonly explain?: boolean | undefined;
};

/** The result of an operation. It can have both: a field that failed is null in `data` and described in `errors`. */
export type Result<Data> = {
  readonly data?: Data | null;
  readonly errors?: readonly ResultError[];
  readonly extensions?: { readonly explain?: Explanation };
};

/** Of `npm start`. */
export const DEFAULT_URL = 'http://127.0.0.1:4000/graphql';

/**
 * Sends an operation. The gateway's errors are in `errors` of the result.
 * @throws what `fetch` throws, or an Error with the HTTP `status` in its `cause` if the response is not GraphQL, or a
 * redirect. For a mutation whose response was lost, an OperationError: OUTCOME_UNKNOWN, or retryable if it was not sent.
 */
export async function request<Data, Variables>(
  document: Document<Data, Variables>,
  variables: Variables,
  options: RequestOptions = {},
): Promise<Result<Data>> {
  const responding = send(document, variables, options, { accept: 'application/json' });
  try {
    const response = await responding;
    return parseResult<Data>(await response.text(), response);
  } catch (error) {
    throw isMutation(document) ? toMutationError(error) : error;
  }
}

/** Whether a document may have a mutation: no mutation is without this word, but a query may have it in a text. */
export const isMutation = (document: { toString(): string }): boolean =>
  /\bmutation\b/.test(document.toString());

/** Node's codes of a connection that was never opened, and those of a proxy that opened none. Browsers do not tell. */
const UNSENT =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ERR_INVALID_URL|UND_ERR_(?:CONNECT_TIMEOUT|PRX_\w+)|PROXY_\d{3})$/;

/** Converts the error of a mutation that has no result: says whether it may have been carried out. */
function toMutationError(error: unknown): unknown {
  const { code } = Object(Object(error).cause);
  const status = statusOf(error);
  if (status !== undefined && isRefusedStatus(status)) return error;
  const known = status === undefined ? 'Its response was lost.' : Object(error).message;
  const failure: ResultError = UNSENT.test(code)
    ? {
        message: 'The gateway could not be reached: the mutation was not sent.',
        extensions: { retryable: true },
      }
    : {
        message: `The mutation may have been carried out: check the audit trail before you repeat it. ${known}`,
        extensions: { code: 'OUTCOME_UNKNOWN', retryable: false },
      };
  return new OperationError(failure, { cause: error });
}

/** The HTTP status of an error because of a response that is not GraphQL. Of a redirect in a browser it is 0. */
export function statusOf(error: unknown): number | undefined {
  const { status } = Object(Object(error).cause);
  return typeof status === 'number' ? status : undefined;
}

/**
 * Whether a server that responds with this HTTP status has not carried out the request. A 408 leaves that open, and a 301 to
 * 303 may follow after it was carried out.
 */
export const isRefusedStatus = (status: number): boolean =>
  (status >= 400 && status < 500 && status !== 408) || status === 307 || status === 308;

/**
 * Sends an operation, and returns its response. Another server would get the credential if it followed a redirect.
 * @throws what `fetch` throws, or an Error with the HTTP `status` in its `cause` for a redirect.
 */
export function send(
  document: { toString(): string },
  variables: unknown,
  { token, url = DEFAULT_URL, fetch = globalThis.fetch, explain = false }: RequestOptions,
  { accept, ...init }: { readonly accept: string; readonly signal?: AbortSignal },
): Promise<FetchResponse> {
  return fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(explain && { 'x-keytrail-explain': '1' }),
    },
    body: JSON.stringify({ query: document.toString(), variables }),
    redirect: 'manual',
    ...init,
  }).then((response) => rejectRedirect(response, url));
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** @throws Error for a redirect. Of its location it has the scheme, the host and the port. */
async function rejectRedirect(response: FetchResponse, url: string): Promise<FetchResponse> {
  const { status, type, headers, body } = response;
  if (!REDIRECTS.has(status) && type !== 'opaqueredirect') return response;
  body?.cancel?.().catch(() => {}); // it may have no end
  const origin = originOf(headers?.get('location') ?? null, url);
  const to = origin === undefined ? 'elsewhere' : `to ${origin}`;
  const by = status === 0 ? '' : ` (HTTP ${status})`;
  throw new Error(
    `The URL redirects ${to}${by}, which is not followed: use the URL of the gateway itself.`,
    { cause: { status } },
  );
}

function originOf(location: string | null, url: string): string | undefined {
  if (location === null || !URL.canParse(location, url)) return undefined;
  const { origin } = new URL(location, url);
  return origin === 'null' ? undefined : origin; // of a scheme without hosts
}

/**
 * @throws Error if the text is not a result. It has no part of the text. Its `cause` has the HTTP `status` and, if the
 * response has Retry-After, `retryAfterSeconds`.
 */
export function parseResult<Data>(
  text: string,
  { status, headers }: FetchResponse,
  now = Date.now,
): Result<Data> {
  const result = parse(text);
  if (isResult(result)) return result as Result<Data>; // the document's types come from the schema
  const [after, date] = [headers?.get('retry-after'), headers?.get('date')];
  const retryAfterSeconds = readRetryAfter({ 'retry-after': after, date }, now);
  const or = retryAfterSeconds === undefined ? '' : `, or wait ${retryAfterSeconds} seconds`;
  throw new Error(`The response is not GraphQL (HTTP ${status}). Check the URL${or}.`, {
    cause: { status, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) },
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isResult(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return 'data' in value || ('errors' in value && Array.isArray(value.errors));
}
