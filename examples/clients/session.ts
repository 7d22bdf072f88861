import { type LoginCredential, LoginDocument, type RequestOptions, request } from 'keytrail/client';

/** A login that is renewed when needed. The tokens are kept in memory. */
export type Session = {
  /**
   * Returns the access token. If a request failed with UNAUTHENTICATED, pass its token to get a new one. Concurrent
   * calls share one login, and there is none if the token was already renewed.
   */
  token(refused?: string): Promise<string>;
};

/** Creates a session for a client's first login. Nothing is sent before the first call of `token`. */
export function createSession(
  clientId: string,
  clientSecret: string,
  options: Omit<RequestOptions, 'token'> = {},
): Session {
  let credential: LoginCredential = { clientSecret };
  let token: string | undefined;
  let renewing: Promise<string> | undefined;

  const logIn = async (): Promise<string> => {
    const { data, errors } = await request(LoginDocument, { clientId, credential }, options);
    if (!data?.login) {
      // No retry: after OUTCOME_UNKNOWN the secret may have been used.
      const [{ message, extensions } = { message: 'no data', extensions: {} }] = errors ?? [];
      throw new Error(`The login failed (${extensions?.code}): ${message}`);
    }
    const { accessToken, refreshToken } = data.login;
    if (refreshToken !== null) credential = { refreshToken }; // null: keep the one you have
    token = accessToken;
    return accessToken;
  };

  return {
    token: async (refused) => {
      if (token !== undefined && token !== refused) return token;
      renewing ??= logIn().finally(() => {
        renewing = undefined;
      });
      return renewing;
    },
  };
}
