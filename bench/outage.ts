import { cpus } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { type Client, createClient, isExpected, sendAtRate } from './resilience/client.ts';
import { startMeasuredKeytrail } from './resilience/keytrail-process.ts';
import { OPERATIONS, type OperationRequest, pick } from './resilience/requests.ts';
import { CLIENT_TOKEN, startServiceProcess } from './resilience/service.ts';
import { quantile, toTable } from './results.ts';

// A constant load while the service fails in eight ways and recovers. Measures how fast requests fail, how many are
// refused that would succeed, and how fast they succeed again. Checks that no login or deletion is sent twice or gets a
// contradictory response. Exits with 1 if not.

/** The result of a request. */
type Outcome = Awaited<ReturnType<typeof send>>;

const RATE = 200;
const DEADLINE_MS = 2000;
/** Delay that the load and the timers of two busy processes may add to the deadline. */
const TOLERANCE_MS = 500;
/** Clients of the load. Each has one token, for all of its requests. */
const CLIENTS = 50;
/** Slightly longer than two open periods of the circuit breaker. It has just opened again at recovery: the worst case. */
const DOWN_MS = 8500;
/** Seven of them: a trial request may succeed while most others fail. */
const PARTLY_DOWN_MS = 28_500;
const UP_MS = 22_000;
const RECOVERY_MS = 10_000;

/** Codes for a login or deletion that the service received, and for one that it did not receive. */
const RECEIVED = ['OK', 'UPSTREAM_ERROR', 'UPSTREAM_BAD_RESPONSE', 'OUTCOME_UNKNOWN'];
const NOT_RECEIVED = ['UPSTREAM_UNAVAILABLE', 'UPSTREAM_TIMEOUT', 'OVERLOADED', 'OUTCOME_UNKNOWN'];

await using service = await startServiceProcess();
await using keytrail = await startMeasuredKeytrail(service.url, {
  UPSTREAM_TIMEOUT_MS: String(DEADLINE_MS),
});
const outcomes: Outcome[] = [];
const outages: { name: string; from: number; to: number }[] = [];
let chooseBehaviour = () => 'normal'; // the service behaves as the ids of requests say
const behave = (choose: () => string) => () => {
  chooseBehaviour = choose;
};
const always = (mode: string) => behave(() => mode);
/** This share of the requests fails, half of them with 503, half because their connection is reset. */
const failing = (share: number) =>
  behave(() => (Math.random() < share ? pick(['503', 'reset']) : 'normal'));
const modes: readonly (readonly [
  name: string,
  fail: () => unknown,
  recover: () => unknown,
  downMs?: number,
])[] = [
  ['stopped (SIGSTOP), resumed', service.pause, service.resume],
  ['killed (SIGKILL), restarted', service.kill, service.restart],
  ['resets connections after the request', always('reset'), always('normal')],
  ['truncates responses', always('truncate'), always('normal')],
  ['refuses connections', service.close, service.listen],
  ['responds with 503', always('503'), always('normal')],
  ['503 or a reset, 90 % of the requests', failing(0.9), always('normal'), PARTLY_DOWN_MS],
  ['503 or a reset, all requests', failing(1), always('normal')],
];
let delay = 0;
{
  await using client = createClient(keytrail.url);
  const over = new AbortController();
  const sending = sendAtRate(RATE, over.signal, async (number) => {
    const request = pick(OPERATIONS)(`${chooseBehaviour()}.${number}`);
    const token = `${CLIENT_TOKEN}${number % CLIENTS}`;
    const headers = request.headers.map((header) =>
      header.replace(/^Bearer .*/, `Bearer ${token}`),
    );
    outcomes.push(await send(client, { ...request, headers }));
  });
  await wait(5000);
  for (const [name, fail, recover, downMs = DOWN_MS] of modes) {
    process.stderr.write(`${name}\n`);
    const from = performance.now();
    await fail();
    await wait(downMs);
    await recover();
    outages.push({ name, from, to: performance.now() });
    await wait(UP_MS);
  }
  over.abort();
  delay = await sending;
}
const end = performance.now();
const { status, complaints } = await keytrail.stop();
const received = service.received();
const failures = outcomes.filter(({ code }) => code !== 'OK');
const reports = outages.map((outage, index) =>
  reportOutage(outage, outages[index + 1]?.from ?? end),
);
const mutations = outcomes.filter(({ isRead }) => !isRead);
const contradictions = mutations.filter(
  ({ id, code }) => code !== 'LOST' && !(received.has(id) ? RECEIVED : NOT_RECEIVED).includes(code),
);

const mustBeZero = [
  [
    'logins and deletions that the service received twice',
    [...received.values()].filter((times) => times > 1).length,
  ],
  ['requests without a response', failures.filter(({ code }) => code === 'LOST').length],
  ['responses with wrong data', failures.filter(({ code }) => code === 'WRONG').length],
  ['responses that contradict what the service received', contradictions.length],
  ['failures before the first outage, or after a recovery', countFailuresWhenUp()],
  ['bugs, warnings and unhandled rejections', complaints.length],
] as const;
const problems = [
  ...mustBeZero.flatMap(([what, count]) => (count > 0 ? [`there are ${what}`] : [])),
  ...reports.flatMap(({ name, durations, recovery }) => [
    ...(Math.max(...durations) > DEADLINE_MS + TOLERANCE_MS
      ? [`${name}: requests failed after their deadline`]
      : []),
    ...(recovery > RECOVERY_MS
      ? [`${name}: requests still failed ten seconds after the recovery`]
      : []),
  ]),
  ...(status === 0 ? [] : ['the exit status is not 0']),
];

const quantiles = (values: readonly number[]) =>
  [0.5, 0.99, 1].map((share) => quantile(values, share).toFixed(1)).join(', ');
const inSeconds = (ms: number) => (ms === Infinity ? 'never' : (ms / 1000).toFixed(1));
process.stdout.write(
  [
    `${outcomes.length} requests, ${RATE} per second, UPSTREAM_TIMEOUT_MS=${DEADLINE_MS}, Node ${process.version}, ${cpus().length} cores. Each outage takes ${DOWN_MS / 1000} s, that of 90 % ${PARTLY_DOWN_MS / 1000} s. Longest delay of the load: ${delay.toFixed(0)} ms.\n`,
    toTable([
      [
        'the service',
        'responses during the outage',
        'failures: median, p99, max, ms',
        'fast failures (circuit breaker): count, the same',
        'refused of those that would succeed',
        'first second without failures after, s',
        'ten seconds without failures after, s',
      ],
      ...reports.map(
        ({ name, codes, durations, fastDurations, refused, firstSecond, recovery }) => [
          name,
          codes,
          quantiles(durations),
          `${fastDurations.length}: ${quantiles(fastDurations)}`,
          refused,
          inSeconds(firstSecond),
          inSeconds(recovery),
        ],
      ),
    ]),
    toTable([
      ['response to a login or a deletion', 'not received by the service', 'once', 'more often'],
      ...[...Map.groupBy(mutations, ({ code }) => code)].map(([code, some]) => {
        const times = some.map(({ id }) => Math.min(received.get(id) ?? 0, 2));
        return [code, ...[0, 1, 2].map((count) => times.filter((each) => each === count).length)];
      }),
    ]),
    toTable([['must be 0', ''], ...mustBeZero]),
    ...[
      ...problems,
      ...contradictions.slice(0, 10).map(({ id, code }) => `${id} ${code}`),
      ...complaints,
    ].map((line) => `- ${line}\n`),
  ].join('\n'),
);
process.exitCode = problems.length > 0 ? 1 : 0;

/** Sends a request and classifies the response. Times are in milliseconds. Never rejects. */
async function send({ post }: Client, { field, ...request }: OperationRequest) {
  const sentAt = performance.now();
  const response = await post(request).catch(() => null);
  const isCorrect = response !== null && isExpected(response, { data: request.data });
  const code = response === null ? 'LOST' : (response.code ?? (isCorrect ? 'OK' : 'WRONG'));
  return {
    id: request.id,
    isRead: field === 'audit',
    sentAt,
    duration: performance.now() - sentAt,
    code,
    /** Failed fast: the circuit breaker is open. */
    isFastFailure: code === 'UPSTREAM_UNAVAILABLE' && response?.retryAfterSeconds !== undefined,
  };
}

/** How requests failed during an outage and, until the next one, after how many milliseconds they succeeded. */
function reportOutage({ name, from, to }: (typeof outages)[number], until: number) {
  const isDuring = ({ sentAt, duration }: Outcome) => sentAt < to && sentAt + duration >= from;
  const codes = Map.groupBy(outcomes.filter(isDuring), ({ code }) => code);
  const failed = failures.filter(isDuring);
  const failedAt = failures
    .map(({ sentAt }) => sentAt)
    .filter((sentAt) => sentAt >= to && sentAt < until)
    .sort((a, b) => a - b);
  const untilPeriodWithoutFailures = (ms: number) =>
    ([to, ...failedAt].find((at, index) => (failedAt[index] ?? until) - at >= ms) ?? Infinity) - to;
  return {
    name,
    codes: [...codes].map(([code, { length }]) => `${code} ${length}`).join(', '),
    durations: failed.map(({ duration }) => duration),
    fastDurations: failed.flatMap((one) => (one.isFastFailure ? one.duration : [])),
    refused: shareOfRefused(outcomes.filter(({ sentAt }) => sentAt >= from && sentAt < to)),
    firstSecond: untilPeriodWithoutFailures(1000),
    recovery: untilPeriodWithoutFailures(10_000),
    to,
    until,
  };
}

/** How many of the requests that the service would carry out failed; none if it failed all of them. */
function shareOfRefused(during: readonly Outcome[]): string {
  const working = during.filter(({ id }) => id.startsWith('normal.'));
  if (working.length === 0 || working.length === during.length) return '';
  const refused = working.filter(({ code }) => code !== 'OK').length;
  return `${refused} of ${working.length} (${((100 * refused) / working.length).toFixed(0)} %)`;
}

function countFailuresWhenUp(): number {
  const periods = [
    { from: 0, until: outages[0]?.from ?? end },
    ...reports.map(({ to, recovery, until }) => ({ from: to + recovery, until })),
  ];
  return failures.filter(({ sentAt, duration }) =>
    periods.some(({ from, until }) => sentAt > from && sentAt + duration < until),
  ).length;
}
