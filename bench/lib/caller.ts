import { isDeepStrictEqual } from 'node:util';
import { Pool } from 'undici';

/** What came back for a request. */
export type Reply = {
  readonly status: number;
  /** Whether the answer says the id that the request had. */
  readonly isMine: boolean;
  readonly data: unknown;
  /** `extensions` of the first error; null when there is none. */
  readonly failure: {
    readonly code: string;
    readonly reason?: string;
    readonly retryAfterSeconds?: number;
    readonly upstream?: { readonly status: number };
  } | null;
};

/** A POST to /graphql. */
export type Post = {
  /** The request's id. */
  readonly tag: string;
  readonly body: string;
  /** Names and values in turn, so that a name can stand twice. */
  readonly headers: readonly string[];
};

/** Whoever asks Keytrail: as many connections as are needed, kept alive. */
export type Caller = AsyncDisposable & {
  readonly url: URL;
  /** Sends it and takes the whole answer. Rejects when there is none within half a minute, or none in JSON, or the signal is aborted. */
  post(post: Post, signal?: AbortSignal): Promise<Reply>;
  /** Sends it, and leaves when the answer has begun. Rejects when that is not how data begin. */
  postAndLeave(post: Post): Promise<void>;
};

/** The longest that Keytrail may take is its deadline, ten seconds unless it is set. */
const PATIENCE_MS = 30_000;

/** Connects to nothing yet. */
export function createCaller(address: string): Caller {
  const url = new URL(address);
  const pool = new Pool(url.origin, { headersTimeout: PATIENCE_MS, bodyTimeout: PATIENCE_MS });
  const request = ({ tag, body, headers }: Post, signal?: AbortSignal) =>
    pool.request({
      method: 'POST',
      path: url.pathname,
      headers: ['accept', 'application/json', 'x-request-id', tag, ...headers],
      body,
      signal: signal ?? null,
    });
  return {
    url,
    post: async (post, signal) => {
      const { statusCode, headers, body } = await request(post, signal);
      const isMine = headers['x-request-id'] === post.tag;
      const text = await body.text();
      if (!text.startsWith('{')) throw new Error(`Status ${statusCode} without JSON.`);
      const result: { data?: unknown; errors?: readonly { extensions: Reply['failure'] }[] } =
        JSON.parse(text);
      const failure = result.errors?.[0]?.extensions ?? null;
      return { status: statusCode, isMine, data: result.data, failure };
    },
    postAndLeave: async (post) => {
      const { body } = await request(post);
      for await (const chunk of body) {
        if (!String(chunk).startsWith('{"data":{')) throw new Error('The answer is not data.');
        break;
      }
    },
    [Symbol.asyncDispose]: () => pool.destroy(),
  };
}

/** What must come back. Data that is left out is not there, and without a code there is no error. */
export type Expected = {
  readonly status?: number;
  readonly isMine?: boolean;
  readonly data?: unknown;
  readonly code?: string;
  readonly reason?: string;
};

/** Whether a reply is what must come back, value by value. */
export function isAsExpected(
  { status, isMine, data, failure }: Reply,
  expected: Expected,
): boolean {
  const { code, reason } = failure ?? {};
  return isDeepStrictEqual(
    { status, isMine, data, code, reason },
    { status: 200, isMine: true, data: undefined, code: undefined, reason: undefined, ...expected },
  );
}
