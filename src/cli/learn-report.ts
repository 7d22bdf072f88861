import { completeAudit } from '../inference/index.ts';
import { profileFields } from '../inference/profile.ts';
import type { ConfiguredContract } from '../mapping/contract.ts';
import type { AuditEvent, Party } from '../mapping/event.ts';
import { INSTANT_FORMATS, parseTime } from '../mapping/time.ts';
import { readTrail, type Trail } from '../mapping/trail.ts';
import type { UpstreamResponse } from '../upstream/types.ts';

const ROWS = 5;
const WIDTH = 24;

/** Every column of the table: the entry of the contract, what it shows, and why it may be empty. */
const COLUMNS: readonly (readonly [
  entry: string,
  show: (event: AuditEvent) => string | null,
  why: string,
])[] = [
  ['id', ({ id }) => id, 'no name says that it is the id of the record'],
  [
    'occurredAt',
    ({ occurredAt }) => occurredAt,
    'nothing that is named like the time of an event holds one with a zone',
  ],
  ['action', ({ action }) => action, 'no name says what was done'],
  ['actor', ({ actor }) => show(actor), 'no name says who did it'],
  ['target', ({ target }) => show(target), 'no name says what it was done to'],
  [
    'outcome',
    ({ outcome }) => outcome,
    'nothing that is named like an outcome holds a flag or a word for success or failure',
  ],
  ['ipAddress', ({ ipAddress }) => ipAddress, 'nothing looks like the address of who acted'],
  ['userAgent', ({ userAgent }) => userAgent, 'nothing is named or looks like a user agent'],
];

/** How the first records of some answers are read, as a table for people, and what stayed unread and why. */
export function describeReading(
  answers: readonly UpstreamResponse[],
  contract: ConfiguredContract,
): string {
  const login =
    contract.login?.accessToken == null ? '' : 'The access token of a login was found.\n';
  if (answers.length === 0) return login;
  const trails = answers.map((answer) => readTrail(completeAudit(answer, contract.audit), answer));
  const events = trails.flatMap(({ length, item }) =>
    Array.from({ length: Math.min(length, ROWS) }, (_, index) => item(index)),
  );
  const rows = events.slice(0, ROWS).map((event) => COLUMNS.map(([, read]) => read(event) ?? '-'));
  const unread = COLUMNS.filter(
    ([, read]) => events.length > 0 && events.every((event) => read(event) === null),
  );
  const lines = [
    `${events.length === 0 ? 'There are no records' : 'The first records'}, as they are read:`,
    '',
    ...toTable([COLUMNS.map(([entry]) => entry), ...rows]),
    '',
    ...unread.map(([entry, , why]) => `  ${entry} stays null: ${why}.`),
    ...(unread.some(([entry]) => entry === 'occurredAt') ? hintAtTimes(events) : []),
    ...nameUnused(events, contract),
    ...nameMissing(trails),
  ];
  return `${login}${lines.join('\n')}\n`;
}

function show(party: Party | null): string | null {
  return party === null
    ? null
    : [party.type, party.name ?? party.identifier].filter((text) => text !== null).join(' ');
}

function toTable(rows: readonly (readonly string[])[]): readonly string[] {
  const short = rows.map((row) =>
    row.map((cell) => (cell.length > WIDTH ? `${cell.slice(0, WIDTH - 1)}…` : cell)),
  );
  const widths = COLUMNS.map((_, column) =>
    Math.max(...short.map((row) => row[column]?.length ?? 0)),
  );
  return short.map((row) =>
    `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd(),
  );
}

/** A time without a zone is never guessed; the contract can say that it is UTC. */
function hintAtTimes(events: readonly AuditEvent[]): readonly string[] {
  return profileFields(events.map(({ raw }) => raw)).flatMap(({ pointer, values: [value] }) => {
    const as = INSTANT_FORMATS.find(
      (format) =>
        format.endsWith('-utc') && typeof value === 'string' && parseTime(value, format) !== null,
    );
    return as === undefined
      ? []
      : [`    If ${pointer} is in UTC, set "occurredAt": {"at": "${pointer}", "as": "${as}"}.`];
  });
}

/** What no answer tells: how the next page is asked for. */
function nameMissing(trails: readonly Trail[]): readonly string[] {
  const missing = trails.flatMap((trail) => {
    const next = trail.next();
    return next !== null && 'missing' in next ? [next.missing] : [];
  });
  return [...new Set(missing)].map(
    (entry) =>
      `  The service has more pages. To ask it for them, set ${entry}: the name of its query parameter.`,
  );
}

function nameUnused(
  events: readonly AuditEvent[],
  contract: ConfiguredContract,
): readonly string[] {
  const used = JSON.stringify(contract.audit?.event ?? {});
  const unused = profileFields(events.map(({ raw }) => raw))
    .map(({ pointer }) => pointer)
    .filter((pointer) => !used.includes(JSON.stringify(pointer)));
  return unused.length === 0
    ? []
    : [`  Nothing reads ${unused.join(', ')}: only \`raw\` has them.`];
}
