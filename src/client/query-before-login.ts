import { OperationError } from './errors.ts';
import { DEFAULT_URL, type RequestOptions, send, statusOf } from './request.ts';

/**
 * Sends a query without a credential, if this is a page of a browser: there `fetch` does not tell whether a request that
 * failed was sent, or was stopped by CORS before. Elsewhere it sends nothing.
 * @throws OperationError if it fails. Then a login that would have followed was not sent.
 */
export async function queryBeforeLogin(options: RequestOptions): Promise<void> {
  const { location } = Object(globalThis);
  if (typeof location?.origin !== 'string') return;
  const { origin, href } = location;
  try {
    const response = await send('{ __typename }', {}, options, { accept: 'application/json' });
    await response.text();
  } catch (cause) {
    if (statusOf(cause) !== undefined)
      throw new OperationError(
        {
          message: `${Object(cause).message} No credential was sent, and none is used up.`,
          extensions: { retryable: false },
        },
        { cause },
      );
    const isForeign = new URL(options.url ?? DEFAULT_URL, href).origin !== origin;
    const advice = isForeign ? `, and that CORS_ORIGINS of the gateway has ${origin}` : '';
    const message = `The gateway could not be reached from ${origin}: nothing was sent, and no credential is used up. Check the connection${advice}.`;
    throw new OperationError({ message, extensions: { retryable: true } }, { cause });
  }
}
