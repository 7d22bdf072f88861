import { GatewayError } from '../../errors.ts';
import { isBearerHeader } from '../../util/bearer-token.ts';

declare const bearer: unique symbol;

/** The value of a well-formed `Authorization` header, forwarded byte for byte. Only {@link parseBearer} creates one. */
export type Bearer = string & { readonly [bearer]: true };

/** Whether a header is a bearer token of at most 8 KiB. */
export function isBearer(header: string): header is Bearer {
  return isBearerHeader(header);
}

/**
 * Validates the caller's `Authorization` header.
 * @throws GatewayError UNAUTHENTICATED if it is missing, or not a bearer token of at most 8 KiB.
 */
export function parseBearer(header: string | null): Bearer {
  if (header === null)
    throw new GatewayError('UNAUTHENTICATED', { message: MISSING, reason: 'TOKEN_MISSING' });
  if (isBearer(header)) return header;
  throw new GatewayError('UNAUTHENTICATED', { message: MALFORMED, reason: 'TOKEN_MALFORMED' });
}

const MISSING =
  'No Authorization header reached the gateway: send `Authorization: Bearer <accessToken>`, and let any router before the gateway forward it.';
const MALFORMED =
  'The Authorization header is not a bearer token: send `Authorization: Bearer <accessToken>`.';
