import type { UpstreamResponse } from '../../util/upstream-response.ts';
import { decodeResponse } from '../upstream/decode-response.ts';
import type { RawResponse } from '../upstream/http-request.ts';

/** A successful response of the service that was saved: its body is the text of a file. */
export type SavedResponse = Pick<RawResponse, 'status' | 'headers'> & { readonly body: string };

/**
 * Decodes a saved response as the gateway decodes one of the service: a list, or any other body.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE if the body is not acceptable.
 */
export function decodeSaved(
  { body, ...head }: SavedResponse,
  kind: 'list' | 'text',
): UpstreamResponse {
  return decodeResponse({ ...head, body: Buffer.from(body) }, kind);
}
