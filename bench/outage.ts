import { cpus } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { type Absence, notice } from './lib/absence.ts';
import { createCaller } from './lib/caller.ts';
import { startKeytrail } from './lib/keytrail-process.ts';
import { compare } from './lib/ledger.ts';
import { load } from './lib/load.ts';
import { quantile, table } from './lib/markdown.ts';
import { ask, type Outcome } from './lib/outcome.ts';
import { ASK } from './lib/questions.ts';
import { startServiceProcess } from './lib/service.ts';
import { pick } from './lib/shots.ts';

// A constant load in front of a service that goes away in six ways and comes back. It shows how fast callers are told,
// how soon all is well again, and that no login or deletion is sent twice or answered for what it was not. It ends with
// 1 when not.

/** A way to be away. */
type Way = { readonly name: string; leave(): unknown; comeBack(): unknown };

const RATE = 200;
const DEADLINE_MS = 2000;
/** What the load and the timers of two busy processes may add to it. */
const BESIDE_MS = 500;
/** Just longer than two rests of the breaker, so that it has to rest a third time when the service is back: the worst case. */
const AWAY_MS = 8500;
const WELL_MS = 22_000;
const RECOVERY_MS = 10_000;

await using service = await startServiceProcess();
await using keytrail = await startKeytrail(service.url, {
  UPSTREAM_TIMEOUT_MS: String(DEADLINE_MS),
});
const outcomes: Outcome[] = [];
const absences: Absence[] = [];
let behaviour = 'well'; // the service behaves as the names of requests say

const behaving = (as: string): Omit<Way, 'name'> => ({
  leave: () => {
    behaviour = as;
  },
  comeBack: () => {
    behaviour = 'well';
  },
});
const ways: readonly Way[] = [
  { name: 'stopped (SIGSTOP), goes on', leave: service.pause, comeBack: service.goOn },
  { name: 'killed (SIGKILL), started again', leave: service.kill, comeBack: service.restart },
  { name: 'resets connections it was asked on', ...behaving('reset') },
  { name: 'cuts answers off in the middle', ...behaving('cut') },
  { name: 'refuses connections', leave: service.refuse, comeBack: service.listen },
  { name: 'answers 503', ...behaving('503') },
];
let late = 0;
{
  await using caller = createCaller(keytrail.url);
  const over = new AbortController();
  const asks = Object.values(ASK);
  const loading = load(RATE, over.signal, async (number) => {
    outcomes.push(await ask(caller, pick(asks)(`${behaviour}.${number}`)));
  });
  await wait(5000);
  for (const { name, leave, comeBack } of ways) {
    process.stderr.write(`${name}\n`);
    const from = performance.now();
    await leave();
    await wait(AWAY_MS);
    await comeBack();
    absences.push({ name, from, to: performance.now() });
    await wait(WELL_MS);
  }
  over.abort();
  late = await loading;
}
const end = performance.now();
const status = await keytrail.stop();
const complaints = keytrail.complaints();
const ledger = compare(outcomes, await service.seen());
const noticed = absences.map((absence, index) => {
  const until = absences[index + 1]?.from ?? end;
  return { ...absence, ...notice(absence, outcomes, until), until };
});

const countOf = (wanted: string) => outcomes.filter(({ code }) => code === wanted).length;
const musts = [
  ['logins and deletions that the service saw twice', ledger.seenTwice],
  ['requests that were never answered', countOf('LOST')],
  ['answers with other data than was asked for', countOf('WRONG')],
  ['answers that contradict what the service saw', ledger.contradictions.length],
  ['failures before the first absence, or after a recovery', failuresWhenWell()],
  ['bugs, warnings and unhandled rejections', complaints.length],
] as const;
const tooSlow = noticed.filter(({ failures }) => Math.max(...failures) > DEADLINE_MS + BESIDE_MS);
const tooLate = noticed.filter(({ recovery }) => recovery === null || recovery > RECOVERY_MS);
const problems = [
  ...musts.flatMap(([what, count]) => (count > 0 ? [`there are ${what}`] : [])),
  ...tooSlow.map(({ name }) => `${name}: callers were told later than at the deadline`),
  ...tooLate.map(({ name }) => `${name}: all was not well again within ten seconds`),
  ...(status === 0 ? [] : ['it did not exit with 0']),
];

const spread = (values: readonly number[]) =>
  [0.5, 0.99, 1].map((share) => quantile(values, share).toFixed(1)).join(', ');
const inSeconds = (ms: number | null) => (ms === null ? 'never' : (ms / 1000).toFixed(1));
process.stdout.write(
  [
    `${outcomes.length} requests, ${RATE} a second, UPSTREAM_TIMEOUT_MS=${DEADLINE_MS}, Node ${process.version}, ${cpus().length} cores. Away for ${AWAY_MS / 1000} s each time. The load was late by ${late.toFixed(0)} ms at most.\n`,
    table([
      [
        'the service',
        'answers while it is away',
        'failures: median, p99, most, ms',
        'of them, not sent to spare it: the same',
        'first second without a failure after, s',
        'ten such seconds after, s',
      ],
      ...noticed.map(({ name, codes, failures, spared, firstSecond, recovery }) => [
        name,
        [...codes].map(([code, count]) => `${code} ${count}`).join(', '),
        spread(failures),
        `${spared.length}: ${spread(spared)}`,
        inSeconds(firstSecond),
        inSeconds(recovery),
      ]),
    ]),
    table([
      [
        'answer to a login or a deletion',
        'not seen by the service',
        'seen once',
        'seen more often',
      ],
      ...[...ledger.codes].map(([code, counts]) => [code, ...counts]),
    ]),
    table([['must be 0', ''], ...musts]),
    ...[...problems, ...ledger.contradictions.slice(0, 10), ...complaints].map(
      (line) => `- ${line}\n`,
    ),
  ].join('\n'),
);
process.exitCode = problems.length > 0 ? 1 : 0;

function failuresWhenWell(): number {
  const rows = [
    { from: 0, until: absences[0]?.from ?? end },
    ...noticed.map(({ to, recovery, until }) => ({ from: to + (recovery ?? 0), until })),
  ];
  return outcomes.filter(
    ({ sentAt, took, code }) =>
      code !== 'OK' && rows.some(({ from, until }) => sentAt > from && sentAt + took < until),
  ).length;
}
