import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { createClient, type GraphQLRequest } from './resilience/client.ts';

/** A caller of an attack, by its number: a token and a network of its own. */
export type Attacker = { readonly number: number; readonly address: string };

/** An attack on a gateway until the signal is aborted. */
export type Attack = {
  readonly name: string;
  /** How many callers attack; each number is a run. */
  readonly callers: readonly number[];
  /** Settings of the gateway. */
  readonly environment?: Readonly<Record<string, string>>;
  /** How long it takes at least until it is at its worst. */
  readonly seconds?: number;
  /** Its callers have no token that the service accepts. */
  readonly isAnonymous?: boolean;
  /** It is about logins: ordinary callers do not log in. */
  readonly isOfLogins?: boolean;
  /** Its callers and the ordinary ones have the address of one backend. */
  readonly isBehindBackend?: boolean;
  /** An ordinary caller reads a response of 16 MB, slowly, meanwhile. */
  readonly hasSlowReader?: boolean;
  readonly run: (url: string, attackers: readonly Attacker[], over: AbortSignal) => Promise<void>;
};

/** A subscription that polls as often as it may. */
export const TAIL = JSON.stringify({
  query: 'subscription { auditEvents(every: 5) { checkpoint } }',
});
/** A small read. */
export const PAGE = JSON.stringify({ query: '{ audit(first: 10) { nodes { id action } } }' });
/** A read of a whole response of 16 MB. */
export const HUGE = readWhole('huge');

/**
 * An attacker waits this long, up to twice, after a request that failed at once, as `retryAfterSeconds` asks. The time is
 * random: what hundreds of requests in one moment cost is not measured.
 */
const REFUSED_MS = 1000;
/** Longer than two deadlines of a call: hanging requests fail, and so do their repetitions. */
const TWO_DEADLINES_S = 21;

const ONE_TO_TWELVE = [1, 2, 12];
const ONE_TO_FORTY = [1, 2, 12, 40];

/** All attacks, in the order of the table. */
export const ATTACKS: readonly Attack[] = [
  {
    name: 'slow reads',
    callers: ONE_TO_TWELVE,
    seconds: TWO_DEADLINES_S,
    run: repeat(600, (attacker) => authorized(attacker, readTen('slow'))),
  },
  { name: 'subscriptions', callers: ONE_TO_TWELVE, run: subscribeAlways(150) },
  {
    name: 'reads that time out',
    callers: ONE_TO_TWELVE,
    seconds: TWO_DEADLINES_S,
    run: repeat(600, (attacker) => authorized(attacker, readTen('hang'))),
  },
  {
    // Those that hang and those that have timed out are one attack: each is repeated once it has failed.
    name: 'logins that time out',
    callers: ONE_TO_FORTY,
    seconds: TWO_DEADLINES_S,
    ...{ isAnonymous: true, isOfLogins: true },
    run: repeat(80, ({ number, address }) => ({
      ...logIn(`hang.${number}`),
      headers: headersOf(address),
    })),
  },
  {
    name: 'refused tokens',
    callers: ONE_TO_FORTY,
    environment: { MAX_IN_FLIGHT: '40' },
    isAnonymous: true,
    isOfLogins: true, // a login has no accepted token, as the attackers: up to 40 of them share 20 places with it
    run: repeat(120, ({ address }, count) => ({
      id: 'refused',
      body: PAGE,
      headers: headersOf(address, `refused.${count}`),
    })),
  },
  {
    name: 'unread responses of 16 MB',
    callers: [1, 2, 26],
    hasSlowReader: true,
    run: leaveUnread(78, 10_000, (attacker) => post(attacker, HUGE)),
  },
  {
    name: 'large responses',
    callers: ONE_TO_TWELVE,
    run: leaveUnread(100, 2000, (attacker) => post(attacker, readWhole('large'))),
  },
  {
    name: 'pipelined reads behind a stream',
    callers: ONE_TO_TWELVE,
    run: leaveUnread(50, 2000, (attacker) => {
      const stream = post(attacker, TAIL, 'accept: text/event-stream\r\n');
      return stream + post(attacker, readWhole('large')).repeat(30);
    }),
  },
  {
    name: "a backend's user with slow reads",
    callers: [1],
    seconds: TWO_DEADLINES_S,
    isBehindBackend: true,
    run: repeat(600, (attacker) => authorized(attacker, readTen('slow'))),
  },
];

/** Headers of a request from a network, with a token if there is one. */
export function headersOf(address: string, token?: string): readonly string[] {
  return [
    ...['content-type', 'application/json', 'x-forwarded-for', address],
    ...(token === undefined ? [] : ['authorization', `Bearer ${token}`]),
  ];
}

/** A login, without its headers. */
export function logIn(id: string): Pick<GraphQLRequest, 'id' | 'body'> {
  const query = `mutation { login(clientId: "${id}", credential: {clientSecret: "s"}) { accessToken } }`;
  return { id, body: JSON.stringify({ query }) };
}

/** A read with an attacker's token. The service accepts it. */
export function authorized({ number, address }: Attacker, body: string): GraphQLRequest {
  return { id: 'worst', body, headers: headersOf(address, `worst.${number}`) };
}

/** Ten reads of the service in one request. */
function readTen(name: string): string {
  const fields = Array.from(
    { length: 10 },
    (_, at) =>
      `a${at}: audit(parameters: [{name: "do", value: "${name}"}, {name: "n", value: "${at}"}]) { totalCount }`,
  );
  return JSON.stringify({ query: `{ ${fields.join(' ')} }` });
}

function readWhole(name: string): string {
  return JSON.stringify({
    query: `{ audit(parameters: [{name: "do", value: "${name}"}]) { raw } }`,
  });
}

/** Repeats requests, a number of them at a time, which the attackers share. */
function repeat(
  total: number,
  toRequest: (attacker: Attacker, count: number) => GraphQLRequest,
): Attack['run'] {
  return async (url, attackers, over) => {
    await using client = createClient(url);
    let count = 0;
    await eachOf(total, attackers, async (attacker) => {
      await pause(REFUSED_MS * Math.random(), over);
      while (!over.aborted) {
        const begun = performance.now();
        count += 1;
        const { code } = await client
          .post(toRequest(attacker, count), over)
          .catch(() => ({ code: 'none' }));
        if (code !== undefined && performance.now() - begun < REFUSED_MS)
          await pause(REFUSED_MS * (1 + Math.random()), over);
      }
    });
  };
}

/** Keeps subscriptions open, and subscribes again when one ends. */
function subscribeAlways(total: number): Attack['run'] {
  return async (url, attackers, over) => {
    await using client = createClient(url);
    await eachOf(total, attackers, async (attacker) => {
      const { headers, ...request } = authorized(attacker, TAIL);
      const stream = { ...request, headers: [...headers, 'accept', 'text/event-stream'] };
      while (!over.aborted) {
        const response = await client.send(stream, over).catch(() => undefined);
        await response?.body.dump().catch(() => {});
        await pause(200, over);
      }
    });
  };
}

/** Opens connections that send these bytes and read nothing. Each is replaced after a time: it does not notice its end. */
function leaveUnread(
  total: number,
  holdMs: number,
  toBytes: (attacker: Attacker) => string,
): Attack['run'] {
  return async (url, attackers, over) => {
    const { port } = new URL(url);
    await eachOf(total, attackers, async (attacker) => {
      const bytes = toBytes(attacker);
      while (!over.aborted) {
        const socket = connect(Number(port), '127.0.0.1');
        socket.on('error', () => {});
        socket.pause();
        socket.write(bytes);
        await pause(holdMs, over);
        socket.destroy();
      }
    });
  };
}

/** Bytes of a request. */
function post({ number, address }: Attacker, body: string, more = ''): string {
  return `POST /graphql HTTP/1.1\r\nhost: a\r\nauthorization: Bearer worst.${number}\r\nx-forwarded-for: ${address}\r\n${more}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

async function eachOf(
  total: number,
  attackers: readonly Attacker[],
  attack: (attacker: Attacker) => Promise<void>,
): Promise<void> {
  await Promise.all(
    Array.from({ length: total }, async (_, index) => {
      const attacker = attackers[index % attackers.length];
      if (attacker !== undefined) await attack(attacker);
    }),
  );
}

async function pause(ms: number, over: AbortSignal): Promise<void> {
  await wait(ms, undefined, { signal: over }).catch(() => {});
}
