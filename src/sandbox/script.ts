import type { ServerResponse } from 'node:http';
import type { RestAnswer } from './api.ts';

/**
 * What becomes of one request instead. Where `status`, `headers` or `body` is given, the sandbox does nothing of what
 * was asked; with `delayMs` or `lost` alone it does it, and its own answer comes late or not at all.
 */
export type ScriptedAnswer = {
  /** 200 unless given. */
  readonly status?: number;
  /** `content-type: application/json` unless given. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A string goes as it is, anything else as JSON; left out, there is none. */
  readonly body?: unknown;
  /** How long the answer waits, in milliseconds. */
  readonly delayMs?: number;
  /** The connection ends before any of the answer is sent, or in the middle of it. */
  readonly lost?: 'before' | 'within';
};

/** Whether a script leaves the sandbox nothing to do. */
export function isWhole(script: ScriptedAnswer): boolean {
  return 'status' in script || 'headers' in script || 'body' in script;
}

/** Sends an answer, or as much of it as should arrive. */
export function send(
  { status = 200, headers, body }: Partial<RestAnswer>,
  response: ServerResponse,
  lost?: ScriptedAnswer['lost'],
): void {
  if (lost === 'before') {
    response.destroy();
    return;
  }
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const bytes = Buffer.from(text ?? '');
  const type = text !== undefined && { 'content-type': 'application/json' };
  if (lost === undefined) {
    response.writeHead(status, { ...type, ...headers }).end(bytes);
    return;
  }
  response.writeHead(status, { ...type, ...headers, 'content-length': bytes.length + 1 });
  response.write(bytes, () => response.destroy());
}
