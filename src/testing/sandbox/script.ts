import { type ServerResponse, validateHeaderName, validateHeaderValue } from 'node:http';
import { type NamesOf, rejectUnknownNames } from './known-names.ts';
import type { RestResponse } from './routes.ts';

/**
 * How the sandbox should respond to one request. With `status`, `headers` or `body`, the sandbox does not handle the
 * request and sends this response. With only `delayMs` or `lost`, it handles the request; its own response is delayed
 * or lost.
 */
export type ScriptedResponse = {
  /** @default 200 */
  readonly status?: number;
  /** @default `content-type: application/json` if there is a body */
  readonly headers?: Readonly<Record<string, string>>;
  /** A string is sent as it is, any other value as JSON. Default: no body. */
  readonly body?: unknown;
  /** Delay of the response in milliseconds. */
  readonly delayMs?: number;
  /** Closes the connection before the response, or within its body. A response without a body is lost as a whole. */
  readonly lost?: 'before' | 'within';
};

/** The names of the members of a scripted response. */
export const SCRIPTED_RESPONSE: NamesOf<ScriptedResponse> = {
  status: true,
  headers: true,
  body: true,
  delayMs: true,
  lost: true,
};

/**
 * Checks a scripted response.
 * @throws TypeError that names what cannot be sent.
 */
export function validateScript(script: ScriptedResponse) {
  rejectUnknownNames(script, SCRIPTED_RESPONSE, 'a member of a scripted response');
  const { status = 200, headers = {}, body, delayMs = 0, lost } = script;
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new TypeError('A scripted response needs a status from 200 to 599.');
  }
  if (!(delayMs >= 0 && delayMs < 2 ** 31)) {
    throw new TypeError('The delay of a scripted response must be 0 to 2147483647 milliseconds.');
  }
  if (lost !== undefined && lost !== 'before' && lost !== 'within')
    throw new TypeError('`lost` of a scripted response must be `before` or `within`.');
  for (const [name, value] of Object.entries(headers)) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  }
  JSON.stringify(body); // throws if it is not possible
}

/** Whether the script replaces the sandbox's own response. */
export function replacesResponse({ status, headers, body }: ScriptedResponse): boolean {
  return status !== undefined || headers !== undefined || body !== undefined;
}

/** Sends a response; if it should be lost, closes the connection before or within it. */
export function sendResponse(
  { status = 200, headers = {}, body }: Partial<RestResponse>,
  response: ServerResponse,
  lost?: ScriptedResponse['lost'],
): void {
  if (lost === 'before') {
    response.destroy();
    return;
  }
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const bytes = Buffer.from(text ?? '');
  response.statusCode = status;
  if (text !== undefined) response.setHeader('content-type', 'application/json');
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (lost === undefined) {
    response.end(bytes);
    return;
  }
  response.setHeader('content-length', bytes.length + 1);
  response.write(bytes, () => response.destroy());
}
