import { GatewayError } from '../errors.ts';

declare const bearer: unique symbol;

/** The value of a well-formed `Authorization` header, to be sent on byte for byte. Only {@link parseBearer} makes one. */
export type Bearer = string & { readonly [bearer]: true };

/** RFC 6750, section 2.1, with one space; the scheme in any case (RFC 9110, section 11.1). */
const GRAMMAR = /^bearer [A-Za-z0-9._~+/-]+=*$/i;

const MAX_LENGTH = 8192;

/**
 * Checks the caller's `Authorization` header.
 * @throws GatewayError UNAUTHENTICATED when there is none, or one that is no bearer token of at most 8 KB.
 */
export function parseBearer(header: string | null): Bearer {
  if (header === null) {
    throw new GatewayError('UNAUTHENTICATED', {
      message:
        'No Authorization header reached the gateway: send `Authorization: Bearer <accessToken>`, and have any router in front forward it.',
      reason: 'TOKEN_MISSING',
    });
  }
  if (header.length > MAX_LENGTH || !GRAMMAR.test(header)) {
    throw new GatewayError('UNAUTHENTICATED', {
      message:
        'The Authorization header is not a bearer token: send `Authorization: Bearer <accessToken>`.',
      reason: 'TOKEN_MALFORMED',
    });
  }
  return header as Bearer; // the brand is what was just checked
}
