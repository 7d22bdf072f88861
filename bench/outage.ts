import { cpus } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { type Client, createClient, isExpected, sendAtRate } from './resilience/client.ts';
import { startMeasuredKeytrail } from './resilience/keytrail-process.ts';
import { OPERATIONS, type OperationRequest, pick } from './resilience/requests.ts';
import { startServiceProcess } from './resilience/service.ts';
import { quantile, toTable } from './results.ts';

// A constant load while the service fails in six ways and recovers. Measures how fast requests fail and how fast they
// succeed again. Checks that no login or deletion is sent twice or gets a contradictory response. Exits with 1 if not.

/** The result of a request. Times in milliseconds. */
type Outcome = {
  readonly id: string;
  readonly isRead: boolean;
  readonly sentAt: number;
  readonly duration: number;
  /** `OK`, `WRONG` for other data, `LOST` without a response, or the error's code. */
  readonly code: string;
  /** Failed fast: the circuit breaker is open. */
  readonly isFastFailure: boolean;
};

/** A way to fail. */
type FailureMode = { readonly name: string; readonly fail: () => unknown; recover(): unknown };

/** When the service was down, on the clock of the outcomes. */
type Outage = { readonly name: string; readonly from: number; readonly to: number };

const RATE = 200;
const DEADLINE_MS = 2000;
/** Delay that the load and the timers of two busy processes may add to the deadline. */
const TOLERANCE_MS = 500;
/** Slightly longer than two open periods of the circuit breaker. It has just opened again at recovery: the worst case. */
const DOWN_MS = 8500;
const UP_MS = 22_000;
const RECOVERY_MS = 10_000;

/** Codes for a login or deletion that the service received. */
const RECEIVED = new Set(['OK', 'UPSTREAM_ERROR', 'UPSTREAM_BAD_RESPONSE', 'OUTCOME_UNKNOWN']);
/** Codes for one that it did not receive. */
const NOT_RECEIVED = new Set([
  'UPSTREAM_UNAVAILABLE',
  'UPSTREAM_TIMEOUT',
  'OVERLOADED',
  'OUTCOME_UNKNOWN',
]);

await using service = await startServiceProcess();
await using keytrail = await startMeasuredKeytrail(service.url, {
  UPSTREAM_TIMEOUT_MS: String(DEADLINE_MS),
});
const outcomes: Outcome[] = [];
const outages: Outage[] = [];
let behaviour = 'normal'; // the service behaves as the ids of requests say

const behaving = (mode: string): Omit<FailureMode, 'name'> => ({
  fail: () => {
    behaviour = mode;
  },
  recover: () => {
    behaviour = 'normal';
  },
});
const modes: readonly FailureMode[] = [
  { name: 'stopped (SIGSTOP), resumed', fail: service.pause, recover: service.resume },
  { name: 'killed (SIGKILL), restarted', fail: service.kill, recover: service.restart },
  { name: 'resets connections after the request', ...behaving('reset') },
  { name: 'truncates responses', ...behaving('truncate') },
  { name: 'refuses connections', fail: service.close, recover: service.listen },
  { name: 'responds with 503', ...behaving('503') },
];
let delay = 0;
{
  await using client = createClient(keytrail.url);
  const over = new AbortController();
  const sending = sendAtRate(RATE, over.signal, async (number) => {
    outcomes.push(await send(client, pick(OPERATIONS)(`${behaviour}.${number}`)));
  });
  await wait(5000);
  for (const { name, fail, recover } of modes) {
    process.stderr.write(`${name}\n`);
    const from = performance.now();
    await fail();
    await wait(DOWN_MS);
    await recover();
    outages.push({ name, from, to: performance.now() });
    await wait(UP_MS);
  }
  over.abort();
  delay = await sending;
}
const end = performance.now();
const status = await keytrail.stop();
const complaints = keytrail.complaints();
const { codes, repeated, contradictions } = checkMutations(await service.received());
const reports = outages.map((outage, index) =>
  reportOutage(outage, outages[index + 1]?.from ?? end),
);

const countOf = (wanted: string) => outcomes.filter(({ code }) => code === wanted).length;
const mustBeZero = [
  ['logins and deletions that the service received twice', repeated],
  ['requests without a response', countOf('LOST')],
  ['responses with wrong data', countOf('WRONG')],
  ['responses that contradict what the service received', contradictions.length],
  ['failures before the first outage, or after a recovery', countFailuresWhenUp()],
  ['bugs, warnings and unhandled rejections', complaints.length],
] as const;
const problems = [
  ...mustBeZero.flatMap(([what, count]) => (count > 0 ? [`there are ${what}`] : [])),
  ...reports.flatMap(({ name, failures, recovery }) => [
    ...(Math.max(...failures) > DEADLINE_MS + TOLERANCE_MS
      ? [`${name}: requests failed after their deadline`]
      : []),
    ...(recovery === null || recovery > RECOVERY_MS
      ? [`${name}: requests still failed ten seconds after the recovery`]
      : []),
  ]),
  ...(status === 0 ? [] : ['the exit status is not 0']),
];

const quantiles = (values: readonly number[]) =>
  [0.5, 0.99, 1].map((share) => quantile(values, share).toFixed(1)).join(', ');
const inSeconds = (ms: number | null) => (ms === null ? 'never' : (ms / 1000).toFixed(1));
process.stdout.write(
  [
    `${outcomes.length} requests, ${RATE} per second, UPSTREAM_TIMEOUT_MS=${DEADLINE_MS}, Node ${process.version}, ${cpus().length} cores. Each outage takes ${DOWN_MS / 1000} s. Longest delay of the load: ${delay.toFixed(0)} ms.\n`,
    toTable([
      [
        'the service',
        'responses during the outage',
        'failures: median, p99, max, ms',
        'fast failures (circuit breaker): count, the same',
        'first second without failures after, s',
        'ten seconds without failures after, s',
      ],
      ...reports.map(({ name, codes, failures, fastFailures, firstSecond, recovery }) => [
        name,
        codes,
        quantiles(failures),
        `${fastFailures.length}: ${quantiles(fastFailures)}`,
        inSeconds(firstSecond),
        inSeconds(recovery),
      ]),
    ]),
    toTable([
      ['response to a login or a deletion', 'not received by the service', 'once', 'more often'],
      ...[...codes].map(([code, counts]) => [code, ...counts]),
    ]),
    toTable([['must be 0', ''], ...mustBeZero]),
    ...[...problems, ...contradictions.slice(0, 10), ...complaints].map((line) => `- ${line}\n`),
  ].join('\n'),
);
process.exitCode = problems.length > 0 ? 1 : 0;

/** Sends a request and classifies the response. Never rejects. */
async function send({ post }: Client, request: OperationRequest): Promise<Outcome> {
  const { id, field, data } = request;
  const sentAt = performance.now();
  const response = await post(request).catch(() => null);
  const { code, retryAfterSeconds } = response?.error ?? {};
  const isCorrect = response !== null && isExpected(response, { data });
  return {
    id,
    isRead: field === 'audit',
    sentAt,
    duration: performance.now() - sentAt,
    code: response === null ? 'LOST' : (code ?? (isCorrect ? 'OK' : 'WRONG')),
    isFastFailure: code === 'UPSTREAM_UNAVAILABLE' && retryAfterSeconds !== undefined,
  };
}

/** Compares responses to logins and deletions with what the service received. Counts by code: not received, once, more. */
function checkMutations(received: ReadonlyMap<string, number>) {
  const codes = new Map<string, [number, number, number]>();
  const contradictions: string[] = [];
  for (const { id, isRead, code } of outcomes) {
    if (isRead) continue;
    const times = received.get(id) ?? 0;
    const counts = codes.get(code) ?? [0, 0, 0];
    codes.set(code, counts);
    counts[times > 1 ? 2 : times === 1 ? 1 : 0] += 1;
    if (code !== 'LOST' && !(times > 0 ? RECEIVED : NOT_RECEIVED).has(code))
      contradictions.push(`${id} ${code}`);
  }
  const repeated = [...received.values()].filter((times) => times > 1).length;
  return { codes, repeated, contradictions };
}

/** How requests failed during an outage and, until the next one, how soon they succeeded. Null for never. */
function reportOutage({ name, from, to }: Outage, until: number) {
  const during = outcomes.filter(
    ({ sentAt, duration }) => sentAt < to && sentAt + duration >= from,
  );
  const failed = during.filter(({ code }) => code !== 'OK');
  const failedAt = outcomes
    .filter(({ sentAt, code }) => sentAt >= to && sentAt < until && code !== 'OK')
    .map(({ sentAt }) => sentAt)
    .sort((a, b) => a - b);
  const untilPeriodWithoutFailures = (ms: number) => {
    const begin = [to, ...failedAt].find((at, index) => (failedAt[index] ?? until) - at >= ms);
    return begin === undefined ? null : begin - to;
  };
  const durations = (some: readonly Outcome[]) => some.map(({ duration }) => duration);
  return {
    name,
    to,
    until,
    codes: [...Map.groupBy(during, ({ code }) => code)]
      .map(([code, { length }]) => `${code} ${length}`)
      .join(', '),
    failures: durations(failed),
    fastFailures: durations(failed.filter(({ isFastFailure }) => isFastFailure)),
    firstSecond: untilPeriodWithoutFailures(1000),
    recovery: untilPeriodWithoutFailures(10_000),
  };
}

function countFailuresWhenUp(): number {
  const periods = [
    { from: 0, until: outages[0]?.from ?? end },
    ...reports.map(({ to, recovery, until }) => ({ from: to + (recovery ?? 0), until })),
  ];
  return outcomes.filter(
    ({ sentAt, duration, code }) =>
      code !== 'OK' &&
      periods.some(({ from, until }) => sentAt > from && sentAt + duration < until),
  ).length;
}
