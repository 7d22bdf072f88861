import { isUnauthenticated, OperationError, SessionLost, wasRefused } from './errors.ts';
import { createFollow, type Follow, type Timers } from './follow.ts';
import { toLoginFailure } from './login-failure.ts';
import { describeMissingRefreshToken, listPossibleTokens } from './missing-refresh-token.ts';
import { type LoginCredential, LoginDocument } from './operations.generated.ts';
import { queryBeforeLogin } from './query-before-login.ts';
import { type Document, isMutation, type RequestOptions, type Result, request } from './request.ts';

/** The tokens of a session. */
export type Tokens = {
  readonly accessToken: string;
  /** Null if the service has issued none: then the next login uses the client secret again. */
  readonly refreshToken: string | null;
  /** When the access token expires. Null: it is used until it is rejected. */
  readonly expiresAt: string | null;
};

/** Where the tokens of a session are kept. */
export type TokenStore = {
  /** Returns the saved tokens, or null. Called before each login. */
  load(): Promise<Tokens | null> | Tokens | null;
  /** Saves the tokens of a login. The session uses them after this has resolved. */
  save(tokens: Tokens): Promise<void> | void;
  /** Runs `work`, which loads, logs in and saves, while no other process does. Default: runs it. */
  lock?<Value>(work: () => Promise<Value>): Promise<Value>;
};

/** The options of {@link createSession}. */
export type SessionOptions = Omit<RequestOptions, 'token'> & {
  readonly clientId: string;
  /** For the first login: used only if no refresh token is saved. */
  readonly clientSecret?: string | undefined;
  /** Default: in memory. */
  readonly tokens?: TokenStore | undefined;
  /**
   * Called once if a login returned no refresh token: the message says which texts of the response may be one, by place and
   * length. After a login with a refresh token, which stays valid then, only if there are such texts. Default: `console.warn`.
   */
  readonly onWarning?: ((message: string) => void) | undefined;
  /** For tests. */
  readonly timers?: Timers | undefined;
};

/** A login that is renewed when needed. */
export type Session = {
  /**
   * Sends an operation. If its token is rejected, it logs in and sends the operation once more: a mutation only if that
   * itself was refused, not a field below it.
   * @throws what `request` and `token` throw. Errors of the operation are in the result.
   */
  request<Data, Variables>(
    document: Document<Data, Variables>,
    variables: Variables,
  ): Promise<Result<Data>>;
  /** Subscribes to new events, see {@link Follow}. */
  readonly follow: Follow;
  /**
   * Returns an access token. If a request failed with UNAUTHENTICATED, pass its token to get a new one. Concurrent calls
   * share one login, and there is none if the token was already renewed. In a page of a browser, a query without a
   * credential checks the connection before.
   * @throws OperationError if the login failed, or if the gateway could not be reached. SessionLost if the outcome of the
   * login is unknown. An Error if something else than the gateway refused it, or redirected it. What `tokens` throws.
   */
  token(rejected?: string): Promise<string>;
};

/** A token is renewed this long before it expires, in milliseconds. */
const RENEWAL_MS = 30_000;

/** Creates a session. Nothing is sent before the first request. */
export function createSession(given: SessionOptions): Session {
  const { clientId, clientSecret, tokens: store, onWarning = warn, ...options } = given;
  const { now = Date.now } = options.timers ?? {};
  let current: Tokens | null = null;
  let login: Promise<Tokens> | undefined; // until its tokens are saved
  let renewing: Promise<Tokens> | undefined;
  let lost: SessionLost | undefined;
  let refused: string | undefined; // the last token that a request was refused with
  let hasWarned = false;

  const lasts = ({ expiresAt }: Pick<Tokens, 'expiresAt'>, ms: number) =>
    expiresAt === null || now() + ms < Date.parse(expiresAt);
  const isUsable = (tokens: Tokens, rejected: string | undefined) =>
    tokens.accessToken !== rejected && lasts(tokens, RENEWAL_MS);

  const logIn = async (refreshToken: string | null): Promise<Tokens> => {
    const credential = toCredential(refreshToken, clientSecret);
    const variables = { clientId, credential, withRaw: true };
    const { data, errors } = await request(LoginDocument, variables, options).catch(rethrow);
    if (!data?.login?.accessToken) throw toLoginFailure(errors);
    const { login: found } = data;
    const texts = found.refreshToken === null ? listPossibleTokens(found) : [];
    const isMissing = (found.refreshToken ?? refreshToken) === null || texts.length > 0;
    if (isMissing && !hasWarned) onWarning(describeMissingRefreshToken(texts));
    hasWarned ||= isMissing;
    return {
      accessToken: found.accessToken,
      refreshToken: found.refreshToken ?? refreshToken, // null: keep the one you have
      // Of a token that lasts a minute or less, or has expired by this clock: null.
      expiresAt: lasts(found, 2 * RENEWAL_MS) ? found.expiresAt : null,
    };
  };

  const renew = async (rejected: string | undefined): Promise<Tokens> => {
    if (login === undefined) {
      await queryBeforeLogin(options);
      const saved = store ? await store.load() : current;
      if (saved && isUsable(saved, rejected)) return saved;
      login = logIn(saved?.refreshToken ?? null).catch((error) => {
        login = undefined;
        if (error instanceof SessionLost) lost = error;
        throw error;
      });
    }
    const tokens = await login;
    await store?.save(tokens); // if this fails, the next call saves again
    login = undefined;
    return tokens;
  };

  const token: Session['token'] = async (rejected) => {
    if (current && isUsable(current, rejected)) return current.accessToken;
    if (lost !== undefined) throw lost;
    const work = () => renew(rejected);
    renewing ??= (store?.lock?.(work) ?? work()).finally(() => {
      renewing = undefined;
    });
    current = await renewing;
    return current.accessToken;
  };

  return {
    token,
    request: async (document, variables) => {
      const first = await token(refused);
      const result = await request(document, variables, { ...options, token: first });
      if (!result.errors?.some(isUnauthenticated)) return result;
      refused = first; // if it is not sent again now, the next request logs in
      if (isMutation(document) && !wasRefused(result)) return result;
      const next = await token(first).catch((error) => rethrowWith(error, result));
      return request(document, variables, { ...options, token: next });
    },
    follow: createFollow({ ...options, token }),
  };
}

function warn(message: string): void {
  // biome-ignore lint/suspicious/noConsole: a library has no main.ts that could pass it in; `onWarning` replaces it
  console.warn(message);
}

function toCredential(refreshToken: string | null, clientSecret?: string): LoginCredential {
  if (refreshToken !== null) return { refreshToken };
  if (clientSecret !== undefined) return { clientSecret };
  throw new OperationError(
    {
      message:
        'No access token is accepted, and no refresh token is saved: the login needs `clientSecret`.',
      extensions: { code: 'UNAUTHENTICATED' },
    },
    { needsSecret: true },
  );
}

/** Adds what is known of the refusal, such as the status of the service, to the error that there is no refresh token. */
function rethrowWith(error: unknown, { errors = [] }: Pick<Result<unknown>, 'errors'>): never {
  if (!(error instanceof OperationError && error.needsSecret && error.extensions.upstream == null))
    throw error;
  const { extensions } = errors.find(isUnauthenticated) ?? {};
  throw new OperationError(
    { message: error.message, extensions: { ...extensions, ...error.extensions } },
    { cause: error, needsSecret: true },
  );
}

function rethrow(error: unknown): never {
  if (error instanceof OperationError && error.extensions.code !== undefined)
    throw toLoginFailure([error]);
  throw error; // it was not sent, or a server refused it that does not know this request
}
