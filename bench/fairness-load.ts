import { request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import {
  type Attacker,
  authorized,
  HUGE,
  headersOf,
  logIn,
  PAGE,
  TAIL,
} from './fairness-attacks.ts';
import { type Client, sendAtRate } from './resilience/client.ts';
import { HUGE_BYTES } from './resilience/service.ts';

/** An ordinary request: the time of its response, in milliseconds, and how long it took. */
export type Timed = { readonly endedAt: number; readonly ms: number };

/** What ordinary callers got in some seconds. */
export type Result = {
  readonly reads: readonly Timed[];
  readonly logins: readonly Timed[];
  /** How often an ordinary request failed, by its code, or by what else was wrong. */
  readonly failures: ReadonlyMap<string, number>;
  readonly notReady: number;
  /** Latencies may be too long by this number of milliseconds, because this process was delayed. */
  readonly delayMs: number;
};

const CALLERS = 16; // with one read at a time, to which the service responds after 50 ms
const LOGINS_PER_SECOND = 10;
/** `timeoutSeconds` of the readiness probe in deploy/kubernetes.yaml. */
const PROBE_MS = 2000;
/** A request that is still in progress this long after the last one began has failed. */
const GRACE_MS = 11_000;
const SUBSCRIBE_MS = 5000;
const READ_BYTES_PER_MS = 1000;
const SLOW_READ_MS = 45_000; // at 1 MB per second it takes 16 s

/** The honest caller that reads slowly; its number is no attacker's. */
export const READER: Attacker = { number: 103, address: '32.0.0.1' };

/** Each ordinary caller has a network of its own, unless a backend sends the requests of all. */
const addressOf = (number: number, backend: string | null) => backend ?? `30.${number}.0.1`;

/** Ordinary callers, each with one read at a time, logins from another network, and readiness checks. */
export async function measure(
  client: Client,
  seconds: number,
  { hasLogins, backend }: { readonly hasLogins: boolean; readonly backend: string | null },
): Promise<Result> {
  const over = AbortSignal.timeout(seconds * 1000);
  const deadline = AbortSignal.timeout(seconds * 1000 + GRACE_MS);
  const failures = new Map<string, number>();
  const reads: Timed[] = [];
  const logins: Timed[] = [];
  let notReady = 0;
  const send = async (id: string, body: string, headers: readonly string[], timed: Timed[]) => {
    const begun = performance.now();
    const { code, data } = await client
      .post({ id, body, headers }, deadline)
      .catch((error: unknown) => ({ code: nameOf(error), data: null }));
    const endedAt = performance.now();
    timed.push({ endedAt, ms: endedAt - begun });
    if (code === undefined && data !== null) return;
    const reason = code ?? 'no data';
    failures.set(reason, (failures.get(reason) ?? 0) + 1);
    await wait(50); // a gateway that has exited refuses connections at once
  };
  const read = async (number: number) => {
    const headers = headersOf(addressOf(number, backend), `ordinary.${number}`);
    while (!over.aborted) await send(`ordinary-${number}`, PAGE, headers, reads);
  };
  const check = async () => {
    while (!over.aborted) {
      const isReady = await fetch(new URL('/health/ready', client.url), {
        signal: AbortSignal.timeout(PROBE_MS),
      }).then(
        ({ ok }) => ok,
        () => false,
      );
      if (!isReady) notReady += 1;
      await wait(250);
    }
  };
  const login = logIn('ordinary');
  const fromOne = headersOf('31.0.0.1');
  const [delayMs] = await Promise.all([
    // As many ticks without logins: they measure the delay.
    sendAtRate(LOGINS_PER_SECOND, over, async () => {
      if (hasLogins) await send(login.id, login.body, fromOne, logins);
    }),
    check(),
    ...Array.from({ length: CALLERS }, (_, number) => read(number)),
  ]);
  return { reads, logins, failures, notReady, delayMs };
}

/** An ordinary subscription. */
export type Subscription = {
  /** Whether it had a payload within five seconds. */
  readonly isOpened: Promise<boolean>;
  /** Whether the gateway has ended it. */
  readonly hasEnded: () => boolean;
};

/** Reads with the token of an ordinary caller, which the service accepts. */
export const introduce = (client: Client, number: number, backend: string | null) =>
  client.post({
    id: 'accepted',
    body: PAGE,
    headers: headersOf(addressOf(number, backend), `ordinary.${number}`),
  });

/** Subscribes as an ordinary caller, whose network has this number, until the signal is aborted. */
export function subscribe(
  client: Client,
  number: number,
  backend: string | null,
  over: AbortSignal,
): Subscription {
  const { promise: isOpened, resolve } = Promise.withResolvers<boolean>();
  let hasEnded = false;
  const read = async () => {
    const headers = headersOf(addressOf(number, backend), `ordinary.${number}`);
    const { body } = await client.send(
      { id: 'tail', body: TAIL, headers: [...headers, 'accept', 'text/event-stream'] },
      over,
    );
    for await (const chunk of body) if (String(chunk).includes('"checkpoint"')) resolve(true);
  };
  void read()
    .catch(() => {})
    .then(() => {
      hasEnded = !over.aborted;
      resolve(false);
    });
  setTimeout(resolve, SUBSCRIBE_MS, false);
  return { isOpened, hasEnded: () => hasEnded };
}

/** Reads a response of 16 MB at 1 MB per second. Returns why not all of it came; undefined if it did. */
export async function readSlowly(url: string): Promise<string | undefined> {
  const { body, headers } = authorized(READER, HUGE);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const sent = request(
    url,
    {
      method: 'POST',
      headers: ['host', new URL(url).host, ...headers],
      agent: false,
      signal: AbortSignal.timeout(SLOW_READ_MS),
    },
    async (response) => {
      try {
        let bytes = 0;
        for await (const chunk of response) {
          bytes += chunk.length;
          await wait(chunk.length / READ_BYTES_PER_MS);
        }
        resolve(bytes);
      } catch (error) {
        reject(error);
      }
    },
  );
  sent.on('error', reject);
  sent.end(body);
  return promise.then(
    (bytes) => (bytes < HUGE_BYTES ? `slow reader got ${bytes} bytes` : undefined),
    (error: unknown) => `slow reader: ${nameOf(error)}`,
  );
}

function nameOf(error: unknown): string {
  const { code, name } = Object(error);
  return typeof code === 'string' ? code : String(name);
}
