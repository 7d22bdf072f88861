import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { type Ask, AUTHORIZATION, CLIENT_ID, type Dialect, MARK } from './dialects.ts';
import type { Load } from './loads.ts';

/** An answer of a peer. */
export type Answer = {
  readonly status: number;
  /** JSON that was read; undefined where there was no body. */
  readonly body: unknown;
  /** All bytes that came, the head included. */
  readonly size: number;
};

/** Says that a peer does not do what it should, and is not measured. */
export class WrongAnswer extends Error {
  override readonly name = 'WrongAnswer';
}

/**
 * Asks a peer for a load once, and looks at everything in the answer.
 * @throws WrongAnswer, and what node:http says where there is no answer.
 */
export async function askRightly(port: number, dialect: Dialect, load: Load): Promise<Answer> {
  const answer = await send(port, dialect.ask(load), AUTHORIZATION);
  const isRight = answer.status < 300 && isDeepStrictEqual(answer.body, dialect.expect(load));
  if (!isRight) throw new WrongAnswer(`answers ${load.name} with ${describe(answer)}`);
  return answer;
}

/**
 * Checks that failures of the service are not told as successes.
 * @throws WrongAnswer
 */
export async function checkRefusals(port: number, dialect: Dialect, load: Load): Promise<void> {
  const ask = dialect.ask(load);
  const withoutToken = await send(port, ask, null);
  if (!isRefusal(withoutToken))
    throw new WrongAnswer(`answers ${load.name} without a token with ${describe(withoutToken)}`);
  if (load.first !== null) return;
  const ofUnknown = { ...ask, path: rename(ask.path), body: rename(ask.body) };
  const unknown = await send(port, ofUnknown, AUTHORIZATION);
  if (!isRefusal(unknown))
    throw new WrongAnswer(`tells a key that there is not as deleted: ${describe(unknown)}`);
}

/** The stub knows no such key. */
function rename(text: string): string {
  return text.replace(CLIENT_ID, `unknown-${MARK}`);
}

/** A status that says so, or errors; and in both cases no data. */
function isRefusal({ status, body }: Answer): boolean {
  const { data, errors } = Object(body);
  const isFailed = status >= 400 || (Array.isArray(errors) && errors.length > 0);
  return isFailed && Object.values(data ?? {}).every((field) => field === null);
}

const TIMEOUT_MS = 30_000;

async function send(port: number, ask: Ask, authorization: string | null): Promise<Answer> {
  // Kept alive as wrk's connections are, since a server says which in its head.
  const agent = new Agent({ keepAlive: true });
  try {
    const sent = request({
      agent,
      port,
      method: ask.method,
      path: fill(ask.path),
      headers: {
        ...(ask.body !== '' && { 'content-type': 'application/json' }),
        ...(authorization !== null && { authorization: fill(authorization) }),
      },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    sent.end(fill(ask.body));
    const [response]: IncomingMessage[] = await once(sent, 'response');
    if (response === undefined) throw new Error('there is no response');
    const { socket, statusCode = 0 } = response;
    const body = await text(response);
    return {
      status: statusCode,
      body: body === '' ? undefined : JSON.parse(body),
      size: socket.bytesRead,
    };
  } finally {
    agent.destroy();
  }
}

/** Digits in the place of the mark, as wrk.lua puts them. */
function fill(text: string): string {
  return text.replaceAll(MARK, '00000000');
}

function describe({ status, body }: Answer): string {
  const json = JSON.stringify(body) ?? 'nothing';
  return `${status}, ${json.length > 300 ? `${json.slice(0, 300)}…` : json}`;
}
