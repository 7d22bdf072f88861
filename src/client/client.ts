import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';
import type { ErrorCode, FailureExtensions } from '../errors.ts';

export type { ErrorCode, FailureReason } from '../errors.ts';
export * from './graphql.ts';

/** An operation as a text that knows the types of its data and its variables, or any text. */
export type Document<Data, Variables> = DocumentTypeDecoration<Data, Variables> & {
  readonly length: number; // a text has one, a parsed document has not
  toString(): string;
};

/** As much of the global `fetch` as a request takes; that of a gateway or of a test will do. */
export type Fetch = (
  url: string,
  init: {
    readonly method: 'POST';
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  },
) => Promise<{ readonly status: number; text(): Promise<string> }>;

/** Where a request goes and what it carries. */
export type RequestOptions = {
  /** Sent as `Authorization: Bearer`. A login takes none. */
  readonly token?: string | undefined;
  /** Where GraphQL is. Default `http://127.0.0.1:4000/graphql`. */
  readonly url?: string | undefined;
  /** Default: the global one. */
  readonly fetch?: Fetch | undefined;
};

/** What went wrong with a field or with the whole request. Decide by `extensions.code`. */
export type ResultError = {
  /** A sentence for people: what happened and what to do next. */
  readonly message: string;
  /** Which field failed. */
  readonly path?: readonly (string | number)[];
  /** A router in between hands on `code`, and may leave out the rest or answer with codes of its own. */
  readonly extensions?: Partial<Omit<FailureExtensions, 'code'>> & {
    readonly code?: ErrorCode | (string & {});
  };
};

/** What came back. Both can be there: a field that failed is null in `data` and named in `errors`. */
export type Result<Data> = {
  readonly data?: Data | null;
  readonly errors?: readonly ResultError[];
};

const DEFAULT_URL = 'http://127.0.0.1:4000/graphql';

/**
 * Sends an operation. Failures that the gateway tells of are in `errors` of the result; it throws only when there is
 * no result: what `fetch` throws, or an Error with the `status` in its `cause` when the answer is not GraphQL's.
 */
export async function request<Data, Variables>(
  document: Document<Data, Variables>,
  variables: Variables,
  { token, url = DEFAULT_URL, fetch = globalThis.fetch }: RequestOptions = {},
): Promise<Result<Data>> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ query: document.toString(), variables }),
  });
  const result = parse(await response.text());
  if (isResult(result)) return result as Result<Data>; // the schema has typed the document
  const { status } = response;
  throw new Error(`The answer is not GraphQL's (HTTP ${status}). Is the address right?`, {
    cause: { status },
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
