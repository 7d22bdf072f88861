import { type LoginCredential, LoginDocument, type LoginMutation } from './graphql.ts';
import { OperationError } from './operation-error.ts';
import { type RequestOptions, request } from './request.ts';

/**
 * It is not known whether a login was carried out. If it was, its credential is used up and the new refresh token is
 * lost, so the session never logs in again. A new session begins with the tokens that are saved.
 */
export class SessionLost extends Error {
  override readonly name = 'SessionLost';
}

/**
 * Logs in, once.
 * @throws SessionLost if the login may have been carried out, and OperationError if it was not.
 */
export async function logIn(
  clientId: string,
  credential: LoginCredential,
  options: Omit<RequestOptions, 'token'>,
): Promise<NonNullable<LoginMutation['login']>> {
  const variables = { clientId, credential };
  const { data, errors } = await request(LoginDocument, variables, options).catch(rethrow);
  if (data?.login) return data.login;
  const [{ message, extensions } = { message: 'There is no data.' }] = errors ?? [];
  if (extensions?.code === 'OUTCOME_UNKNOWN') throw new SessionLost(LOST);
  throw new OperationError({
    message: `The login failed (${extensions?.code}): ${message}`,
    extensions: { retryable: false, ...extensions }, // without that extension, a login is not repeated
  });
}

const LOST =
  'The response to the login was lost, and its credential may be used up. Check that, then create a new session.';

/** Node's codes of a connection that was never opened. Browsers do not tell. */
const UNSENT =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

function rethrow(error: unknown): never {
  const { cause } = Object(error);
  const { code, status } = Object(cause);
  if (UNSENT.test(code)) throw toUnreachable(error);
  if (status < 500) throw error; // of a server that does not know this request
  throw new SessionLost(LOST, { cause: error });
}

/** A connection that failed, as an error that is retryable. */
export function toUnreachable(cause: unknown): OperationError {
  const message = 'The gateway could not be reached.';
  return new OperationError({ message, extensions: { retryable: true } }, { cause });
}
