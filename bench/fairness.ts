import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ATTACKS, type Attack, authorized, PAGE } from './fairness-attacks.ts';
import { introduce, measure, READER, readSlowly, subscribe, type Timed } from './fairness-load.ts';
import { buildImage, readMemoryLimit, startImage } from './image.ts';
import { pinThisProcess } from './processes.ts';
import { createClient } from './resilience/client.ts';
import { startServiceProcess } from './resilience/service.ts';
import { formatMegabytes, quantile, toTable } from './results.ts';

// Attacks of 1, 2, 12 and, where no token is needed, 40 callers beside ordinary ones, which have used their tokens
// before. Each run has its own process. The ordinary callers are measured alone, then during the attack. Exits with 1 if
// an ordinary request fails or is too slow, an ordinary caller gets no subscription or loses its only one, readiness is
// lost, the circuit opens or the memory exceeds that of the container.
//
// Too slow: the median or the p99 of the reads, or of the logins, is more than three times that of the same kind alone.
// - The second around the end of the slowest request does not count, alone too: a garbage collection, or another
//   process, delays all requests of a moment.
// - A run of which nothing else is wrong is repeated, twice at most. An attack slows all three. Other work on the
//   machine seldom does: as root, this benchmark and the gateway have a higher priority.

const FACTOR = 3;
const ATTEMPTS = 3;
const WARM_UP_S = 2;
const ALONE_S = 5;
const LEAD_MS = 2000; // until an attack has taken all that it can
const BACKEND = '40.0.0.1';
const KEEPS = 101; // numbers of the ordinary callers with subscriptions
const SUBSCRIBES = 102;
const { values, positionals: words } = parseArgs({
  options: { seconds: { type: 'string', default: '10' } },
  allowPositionals: true,
});
const seconds = Number(values.seconds); // of each attack at least
const limit = readMemoryLimit();

pinThisProcess();
await buildImage();

/** Median and p99, in milliseconds. */
function figuresOf(requests: readonly Timed[]): readonly number[] {
  const [slowest] = requests.toSorted((a, b) => b.ms - a.ms);
  const counted = requests
    .filter(({ endedAt }) => Math.abs(endedAt - (slowest?.endedAt ?? 0)) > 500)
    .map(({ ms }) => ms);
  return [quantile(counted, 0.5), quantile(counted, 0.99)];
}

/** One attack by a number of callers, beside ordinary ones, on a gateway and a service of its own. */
async function run(attack: Attack, callers: number) {
  await using service = await startServiceProcess(); // another run may have left work to the last one
  await using gateway = await startImage(service.url, {
    TRUSTED_PROXIES: '1',
    LOGIN_RATE_LIMIT: '0',
    ...attack.environment,
  });
  await using client = createClient(gateway.url);
  const over = new AbortController();
  const backend = attack.isBehindBackend ? BACKEND : null;
  const attackers = Array.from({ length: callers }, (_, number) => ({
    number,
    address: backend ?? `20.${number}.0.1`,
  }));
  const load = { hasLogins: !attack.isOfLogins, backend };
  await measure(client, WARM_UP_S, load);
  for (const number of [KEEPS, SUBSCRIBES]) await introduce(client, number, backend);
  const kept = subscribe(client, KEEPS, backend, over.signal);
  const alone = await measure(client, ALONE_S, load);
  const known = attack.isAnonymous ? [READER] : [READER, ...attackers]; // the service accepts their tokens
  await Promise.all(known.map((caller) => client.post(authorized(caller, PAGE))));

  const attacking = attack.run(gateway.url, attackers, over.signal);
  await wait(LEAD_MS);
  const reading = attack.hasSlowReader ? readSlowly(gateway.url) : undefined;
  const subscribed = subscribe(client, SUBSCRIBES, backend, over.signal);
  const meanwhile = await measure(client, Math.max(seconds, attack.seconds ?? 0), load);
  const unread = await reading;
  const subscriptions = [
    ...((await subscribed.isOpened) ? [] : ['refused']),
    ...(!(await kept.isOpened) || kept.hasEnded() ? ['lost'] : []),
  ];
  const exit = gateway.exit();
  const peak = exit === null ? gateway.peakBytes() : Number.POSITIVE_INFINITY;
  const opened = gateway.circuitOpened();
  over.abort();
  await attacking;

  const failed = [
    ...[...alone.failures].map(([code, count]) => `alone: ${count} ${code}`),
    ...[...meanwhile.failures].map(([code, count]) => `${count} ${code}`),
  ];
  if (unread !== undefined) failed.push(unread);
  const compare = (kind: 'reads' | 'logins') => {
    const before = figuresOf(alone[kind]);
    const during = figuresOf(meanwhile[kind]);
    const format = (figures: readonly number[]) => figures.map((ms) => ms.toFixed(0)).join(', ');
    return {
      isSlow: during.some((ms, index) => ms > FACTOR * (before[index] ?? 0)),
      cells: Number.isNaN(before[0]) ? ['', ''] : [format(before), format(during)],
    };
  };
  const [reads, logins] = [compare('reads'), compare('logins')];
  const isSlow = reads.isSlow || logins.isSlow;
  const isWrong =
    failed.length > 0 ||
    subscriptions.length > 0 ||
    meanwhile.notReady > 0 ||
    opened > 0 ||
    !(peak < limit);
  const row = [
    attack.name,
    callers,
    ...[...reads.cells, ...logins.cells],
    failed.join(', '),
    subscriptions.join(', '),
    meanwhile.notReady,
    opened,
    exit ?? formatMegabytes(peak),
    meanwhile.delayMs.toFixed(0),
    isWrong ? 'wrong' : isSlow ? 'slow' : '',
  ];
  process.stderr.write(`${row.join(' | ')}\n`);
  return { row, isSlow, isWrong };
}

const rows: (readonly (string | number)[])[] = [];
let isFailed = false;
for (const attack of ATTACKS) {
  if (words.length > 0 && !words.some((word) => attack.name.includes(word))) continue;
  for (const callers of attack.callers) {
    let result = await run(attack, callers);
    for (let attempt = 1; attempt < ATTEMPTS && result.isSlow && !result.isWrong; attempt += 1)
      result = await run(attack, callers);
    isFailed ||= result.isSlow || result.isWrong;
    rows.push(result.row);
  }
}
const HEAD = [
  ...['attack', 'callers', 'reads alone: median, p99, ms', 'meanwhile', 'logins alone, ms'],
  ...['meanwhile', 'failed', 'subscriptions', 'not ready', 'circuit opened', 'RSS, MB'],
  ...['delay of the load, ms', ''],
];
process.stdout.write(
  `${toTable([HEAD, ...rows])}\nRSS: its peak; the limit is ${formatMegabytes(limit)} MB.\n`,
);
process.exit(Number(isFailed));
