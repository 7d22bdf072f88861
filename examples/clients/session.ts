import { type LoginCredential, LoginDocument, type RequestOptions, request } from 'keytrail/client';

/** A login that renews itself. The tokens are kept in memory, for as long as the program runs. */
export type Session = {
  /**
   * The token to send. Hand in the one that was answered with UNAUTHENTICATED, if it was: then it is a new one, from
   * one login however many ask, and from none if the token was renewed since the refused one was sent.
   */
  token(refused?: string): Promise<string>;
};

/** Starts a session of a client that has never logged in before; nothing is sent until a token is asked for. */
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
      // After OUTCOME_UNKNOWN the secret may be used up: that is for people to decide.
      const [{ message, extensions } = { message: 'no answer', extensions: {} }] = errors ?? [];
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
