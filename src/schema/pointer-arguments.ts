import { GatewayError } from '../errors.ts';
import { interpretPointer, POINTER, type PointerReader } from '../mapping/json-pointer.ts';

/** Bounds of a pointer that a client sends: the service's responses are at most 64 levels deep. */
const MAX_LENGTH = 2048;
const MAX_TOKENS = 64;

/** What is wrong with a client's JSON pointer; null if it is valid. */
export function describeInvalidPointer(pointer: string): string | null {
  if (pointer.length > MAX_LENGTH || pointer.split('/', MAX_TOKENS + 2).length > MAX_TOKENS + 1)
    return `Use a JSON pointer of at most ${MAX_LENGTH} characters and ${MAX_TOKENS} tokens.`;
  if (POINTER.test(pointer)) return null;
  return 'Use a JSON pointer: empty, or with a leading `/` as in `/data/0/id` (RFC 6901).';
}

/**
 * Parses a client's JSON pointer into a function that resolves it; `undefined` if there is nothing. It is not compiled:
 * a client could send a new one with every request.
 * @throws GatewayError BAD_USER_INPUT if it is not a pointer, or too long.
 */
export function parsePointer(pointer: string): PointerReader {
  const message = describeInvalidPointer(pointer);
  if (message !== null) throw new GatewayError('BAD_USER_INPUT', { message });
  return interpretPointer(pointer);
}
