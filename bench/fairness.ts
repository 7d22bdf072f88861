import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Client, createClient } from './resilience/client.ts';
import { startMeasuredKeytrail } from './resilience/keytrail-process.ts';
import { startServiceProcess } from './resilience/service.ts';
import { formatMegabytes, quantile, toTable } from './results.ts';

// One token that does its worst beside ordinary callers: slow reads, timeouts, subscriptions, large responses that it
// does not read, pipelined requests. Measures the throughput of the ordinary callers before and meanwhile, their logins,
// readiness and the circuit breaker. Exits with 1 if they keep less than half of their throughput, a request or a login
// fails, an ordinary caller gets no subscription, readiness is lost or the circuit opens.

const CALLERS = 16; // with one read at a time, to which the service responds after 50 ms
const REFUSED_MS = 1000; // the worst token waits after a failed request, as `retryAfterSeconds` asks
const { values } = parseArgs({ options: { seconds: { type: 'string', default: '15' } } });
const seconds = Number(values.seconds); // of each attack

const WORST = ['content-type', 'application/json', 'authorization', 'Bearer worst.token'];
/** Ten reads of the service in one request. */
const tenReads = (name: string) =>
  JSON.stringify({
    query: `{ ${Array.from(
      { length: 10 },
      (_, at) =>
        `a${at}: audit(parameters: [{name: "do", value: "${name}"}, {name: "n", value: "${at}"}]) { totalCount }`,
    ).join(' ')} }`,
  });
const LARGE = JSON.stringify({
  query: '{ audit(parameters: [{name: "do", value: "large"}]) { raw } }',
});
const TAIL = JSON.stringify({ query: 'subscription { auditEvents(every: 5) { checkpoint } }' });

await using service = await startServiceProcess();
await using keytrail = await startMeasuredKeytrail(service.url);
await using client = createClient(keytrail.url);
const { origin, port } = new URL(keytrail.url);

/** Repeats requests of the worst token, `count` at a time, until the signal is aborted. */
const repeat = (count: number, body: string) => async (over: AbortSignal) => {
  const worst = createClient(keytrail.url);
  const loop = async () => {
    while (!over.aborted) {
      const { code } = await worst
        .post({ id: 'worst', body, headers: WORST }, over)
        .catch(() => ({ code: 'none' }));
      if (code !== undefined) await wait(REFUSED_MS);
    }
  };
  await Promise.all(Array.from({ length: count }, loop));
  await worst[Symbol.asyncDispose]();
};

/** Opens connections that send these bytes and read nothing, and opens each again when it is closed. */
const leaveUnread = (count: number, bytes: string) => async (over: AbortSignal) => {
  const sockets = new Set<Socket>();
  const attack = async () => {
    while (!over.aborted) {
      const socket = connect(Number(port), '127.0.0.1');
      sockets.add(socket);
      socket.on('error', () => {});
      socket.pause();
      socket.write(bytes);
      await Promise.race([once(socket, 'close'), wait(2000)]);
      socket.destroy();
      sockets.delete(socket);
    }
  };
  await Promise.all(Array.from({ length: count }, attack));
};

const post = (body: string, more = '') =>
  `POST /graphql HTTP/1.1\r\nhost: a\r\nauthorization: Bearer worst.token\r\n${more}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
const stream = post(TAIL, 'accept: text/event-stream\r\n');

/** Keeps subscriptions open, and subscribes again when one ends. */
async function subscribeAlways(over: AbortSignal): Promise<void> {
  const worst = createClient(keytrail.url);
  const loop = async () => {
    while (!over.aborted) {
      const headers = [...WORST, 'accept', 'text/event-stream'];
      const response = await worst
        .send({ id: 'worst', body: TAIL, headers }, over)
        .catch(() => undefined);
      await response?.body.dump().catch(() => {});
      await wait(200);
    }
  };
  await Promise.all(Array.from({ length: 150 }, loop));
  await worst[Symbol.asyncDispose]();
}

const ATTACKS = {
  'slow reads': repeat(600, tenReads('slow')),
  timeouts: repeat(600, tenReads('hang')),
  subscriptions: subscribeAlways,
  'large responses': leaveUnread(100, post(LARGE)),
  'pipelined reads behind a stream': leaveUnread(50, stream + post(LARGE).repeat(30)),
} as const;

const toFailure = () => ({ code: 'none', data: null });

/** Ordinary callers, each with a token of its own and one request at a time. */
async function measure(forSeconds: number) {
  const over = AbortSignal.timeout(forSeconds * 1000);
  const result = { requests: 0, failed: 0, logins: 0, notReady: 0, latencies: [] as number[] };
  const read = async (number: number) => {
    const body = JSON.stringify({ query: '{ audit(first: 10) { nodes { id action } } }' });
    const headers = [
      'content-type',
      'application/json',
      'authorization',
      `Bearer ordinary.${number}`,
    ];
    while (!over.aborted) {
      const begun = performance.now();
      const { data, code } = await client
        .post({ id: `ordinary-${number}`, body, headers })
        .catch(toFailure);
      result.latencies.push(performance.now() - begun);
      result.requests += 1;
      if (code !== undefined || data === null) result.failed += 1;
    }
  };
  const logIn = async () => {
    const body = JSON.stringify({
      query:
        'mutation { login(clientId: "ordinary", credential: {clientSecret: "s"}) { accessToken } }',
    });
    while (!over.aborted) {
      const { code } = await client
        .post({
          id: 'login',
          body,
          headers: ['content-type', 'application/json'],
        })
        .catch(toFailure);
      if (code === undefined) result.logins += 1;
      else result.failed += 1;
      await wait(100);
    }
  };
  const check = async () => {
    while (!over.aborted) {
      const { ok } = await fetch(`${origin}/health/ready`);
      if (!ok) result.notReady += 1;
      await wait(250);
    }
  };
  await Promise.all([
    ...Array.from({ length: CALLERS }, (_, number) => read(number)),
    logIn(),
    check(),
  ]);
  return result;
}

/** Whether an ordinary caller can subscribe. */
async function isSubscribed(client: Client): Promise<boolean> {
  const stop = new AbortController();
  const headers = ['content-type', 'application/json', 'accept', 'text/event-stream'];
  const { body } = await client.send(
    { id: 'tail', body: TAIL, headers: [...headers, 'authorization', 'Bearer ordinary.tail'] },
    stop.signal,
  );
  const end = setTimeout(() => stop.abort(), 5000);
  let text = '';
  try {
    for await (const chunk of body) {
      text += chunk;
      if (/"checkpoint"|"errors"/.test(text)) break;
    }
  } catch {}
  clearTimeout(end);
  stop.abort();
  return text.includes('"checkpoint"');
}

const logged = () => keytrail.output.stdout.match(/circuit breaker open/g)?.length ?? 0;

await measure(5); // warm-up
const usual = await measure(seconds);
const perSecond = ({ requests }: typeof usual) => requests / seconds;
const row = (name: string, one: typeof usual, subscribed: string, opened: number, rss = 0) => [
  name,
  perSecond(one).toFixed(0),
  (perSecond(one) / perSecond(usual)).toFixed(2),
  quantile(one.latencies, 0.99).toFixed(0),
  one.logins,
  one.failed,
  subscribed,
  one.notReady,
  opened,
  rss > 0 ? formatMegabytes(rss) : '',
];
const rows = [row('none', usual, '', 0)];
let isFailed = false;
for (const [name, attack] of Object.entries(ATTACKS)) {
  const over = new AbortController();
  const before = logged();
  const attacking = attack(over.signal);
  await wait(3000); // until it has taken all that it can
  const one = await measure(seconds);
  const { rss } = await keytrail.measure();
  const canSubscribe = await isSubscribed(client);
  over.abort();
  await attacking;
  const opened = logged() - before;
  isFailed ||= perSecond(one) < perSecond(usual) / 2 || one.failed > 0 || one.logins === 0;
  isFailed ||= !canSubscribe || one.notReady > 0 || opened > 0;
  rows.push(row(name, one, canSubscribe ? 'yes' : 'no', opened, rss));
  process.stderr.write(`${rows.at(-1)?.join(' | ')}\n`);
  await wait(11_000); // for what the attack has left to reach its deadline
}
process.stdout.write(
  toTable([
    [
      'attack of one token',
      'requests/s',
      'ratio',
      'p99, ms',
      'logins',
      'failed',
      'subscribes',
      'not ready',
      'circuit opened',
      'RSS, MB',
    ],
    ...rows,
  ]),
);
process.exit(Number(isFailed));
