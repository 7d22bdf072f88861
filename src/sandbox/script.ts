import { type ServerResponse, validateHeaderName, validateHeaderValue } from 'node:http';
import type { RestResponse } from './routes.ts';

/**
 * What becomes of one request instead. Where `status`, `headers` or `body` is given, the sandbox does nothing of what
 * was asked; with `delayMs` or `lost` alone it does it, and its own answer comes late or not at all.
 */
export type ScriptedResponse = {
  /** 200 unless given. */
  readonly status?: number;
  /** `content-type: application/json` unless given. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A string goes as it is, anything else as JSON; left out, there is none. */
  readonly body?: unknown;
  /** How long the answer waits, in milliseconds. */
  readonly delayMs?: number;
  /** The connection ends before any of the answer is sent, or in the middle of it; without a body there is no middle. */
  readonly lost?: 'before' | 'within';
};

/**
 * Checks that a script can be carried out.
 * @throws TypeError that says what cannot be sent.
 */
export function checkScript(script: ScriptedResponse) {
  const { status = 200, headers = {}, body, delayMs = 0, lost: _, ...others } = script;
  const unknown = Object.keys(others);
  if (unknown.length > 0) throw new TypeError(`A scripted answer has no ${unknown.join(', ')}.`);
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new TypeError('A scripted answer needs a status from 200 to 599.');
  }
  if (!(delayMs >= 0 && delayMs < 2 ** 31)) {
    throw new TypeError('A scripted answer waits for 0 to 2147483647 milliseconds.');
  }
  for (const [name, value] of Object.entries(headers)) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  }
  JSON.stringify(body);
}

/** Whether a script leaves the sandbox nothing to do. */
export function isWhole({ status, headers, body }: ScriptedResponse): boolean {
  return status !== undefined || headers !== undefined || body !== undefined;
}

/** Sends an answer, or as much of it as should arrive. */
export function send(
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
