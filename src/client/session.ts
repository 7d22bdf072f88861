import { createFollow, type Follow } from './follow.ts';
import { logIn, SessionLost } from './log-in.ts';
import { type Document, type RequestOptions, type Result, request } from './request.ts';
import { TIMERS, type Timers } from './timers.ts';

/** The tokens of a session. */
export type Tokens = {
  readonly accessToken: string;
  /** Null if the service has issued none: then the next login uses the client secret again. */
  readonly refreshToken: string | null;
  /** When the access token expires. Null if the service does not say. */
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
  /** Replaces the clock, the randomness and the timers, for tests. */
  readonly timers?: Partial<Timers> | undefined;
};

/** A login that is renewed when needed. */
export type Session = {
  /**
   * Sends an operation. If its token is rejected, it logs in and sends the operation once more.
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
   * share one login, and there is none if the token was already renewed.
   * @throws OperationError if the login failed, SessionLost if it is not known whether it did, and what `tokens` throws.
   */
  token(rejected?: string): Promise<string>;
};

/** A token is renewed this long before it expires, in milliseconds. */
const RENEWAL_MS = 30_000;

/** Creates a session. Nothing is sent before the first request. */
export function createSession({
  clientId,
  clientSecret,
  tokens = createMemory(),
  timers: given,
  ...options
}: SessionOptions): Session {
  const timers = { ...TIMERS, ...given };
  let current: string | undefined;
  let renewAt = Infinity;
  let unsaved: Tokens | undefined;
  let lost: SessionLost | undefined;
  let renewing: Promise<string> | undefined;

  const msLeft = ({ expiresAt }: Tokens) =>
    expiresAt === null ? Infinity : Date.parse(expiresAt) - timers.now();

  const logInWith = async (refreshToken: string | null): Promise<Tokens> => {
    if (refreshToken === null && clientSecret === undefined)
      throw new TypeError('No refresh token is saved: the first login needs `clientSecret`.');
    const credential =
      refreshToken === null ? { clientSecret: `${clientSecret}` } : { refreshToken };
    const login = await logIn(clientId, credential, options).catch((error) => {
      if (error instanceof SessionLost) lost = error;
      throw error;
    });
    const { accessToken, expiresAt } = login;
    return { accessToken, expiresAt, refreshToken: login.refreshToken ?? refreshToken }; // null: keep the one you have
  };

  const renew = async (rejected: string | undefined): Promise<string> => {
    if (lost !== undefined) throw lost;
    let next = unsaved ?? (await tokens.load());
    const isUsable = next !== null && next.accessToken !== rejected && msLeft(next) > RENEWAL_MS;
    if (next === null || !(isUsable || next === unsaved))
      next = unsaved = await logInWith(next?.refreshToken ?? null);
    if (unsaved !== undefined) await tokens.save(unsaved); // if this fails, the next call saves again
    unsaved = undefined;
    // A token that lasts a minute or less, or has expired by this clock, is used until it is rejected.
    renewAt = msLeft(next) > 2 * RENEWAL_MS ? timers.now() + msLeft(next) - RENEWAL_MS : Infinity;
    current = next.accessToken;
    return current;
  };

  const token: Session['token'] = async (rejected) => {
    if (current !== undefined && current !== rejected && timers.now() < renewAt) return current;
    const work = () => renew(rejected);
    renewing ??= (tokens.lock?.(work) ?? work()).finally(() => {
      renewing = undefined;
    });
    return renewing;
  };

  return {
    token,
    request: async (document, variables) => {
      const first = await token();
      const result = await request(document, variables, { ...options, token: first });
      const isRejected = result.errors?.some(
        ({ extensions }) => extensions?.code === 'UNAUTHENTICATED',
      );
      if (!isRejected) return result;
      return request(document, variables, { ...options, token: await token(first) });
    },
    follow: createFollow({ ...options, token, timers }),
  };
}

/** Keeps tokens in memory. */
function createMemory(): TokenStore {
  let saved: Tokens | null = null;
  return {
    load: () => saved,
    save: (tokens) => {
      saved = tokens;
    },
  };
}
