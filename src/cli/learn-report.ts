import { completeAudit } from '../inference/complete-contract.ts';
import { type FieldProfile, profileFields } from '../inference/profile-fields.ts';
import { type AuditPage, readAuditPage } from '../mapping/audit-page.ts';
import type { ConfiguredContract } from '../mapping/contract.ts';
import type { AuditEvent, Party } from '../mapping/event.ts';
import { parseIso, parseTime } from '../mapping/time.ts';
import type { UpstreamResponse } from '../upstream/types.ts';
import { escapeUnprintable } from '../util/escape-unprintable.ts';
import { wrap } from './wrap.ts';

/** Records per response that are checked for null fields and for fields that are not mapped. */
const RECORDS_PER_RESPONSE = 5;

/** Records in the table, and characters per value: three of 26 fit the width. */
const TABLE_RECORDS = 3;
const VALUE_WIDTH = 26;

/** Of the lines that continue another. */
const INDENT = '    ';

/** Every row of the table: an entry of the contract, and why it may be null. */
const ROWS = [
  ['id', 'no field has the name of a record ID'],
  ['occurredAt', 'no field with the name of an event time holds a time with a zone'],
  ['action', 'no field has the name of an action'],
  ['actor', 'no field has the name of an actor'],
  ['target', 'no field has the name of a target'],
  [
    'outcome',
    'no field with the name of an outcome holds a success flag, or a word for success or failure',
  ],
  ['ipAddress', 'no field holds the IP address of an actor'],
  ['userAgent', 'no field has the name or the format of a user agent'],
] as const;

/**
 * Formats how the first records of some responses are mapped: a table of values, why fields are null, which fields are
 * not mapped, and what to configure. Lines have at most 100 columns, unless a single word is longer.
 */
export function formatReport(
  responses: readonly UpstreamResponse[],
  contract: ConfiguredContract,
): string {
  const login =
    contract.login?.accessToken == null ? '' : 'The login response has an access token.\n';
  if (responses.length === 0) return login;
  const trails = responses.map((response) =>
    readAuditPage(completeAudit(response, contract.audit), response),
  );
  const events = trails.flatMap(({ length, item }) =>
    Array.from({ length: Math.min(length, RECORDS_PER_RESPONSE) }, (_, index) => item(index)),
  );
  const fields = profileFields(events.map(({ raw }) => raw));
  const nullRows = ROWS.filter(
    ([entry]) => events.length > 0 && events.every((event) => event[entry] === null),
  );
  const lines = [
    events.length === 0 ? 'The list of records is empty.' : 'The first records, as mapped:',
    '',
    ...formatTable(events.slice(0, TABLE_RECORDS)),
    '',
    ...nullRows.map(([entry, whyNull]) => `  ${entry} is null: ${whyNull}.`),
    ...(nullRows.some(([entry]) => entry === 'occurredAt') ? suggestTimeFormats(fields) : []),
    ...listUnmapped(fields, contract),
    ...listMissingEntries(trails),
  ];
  return `${login}${lines.flatMap((line) => wrap(escapeUnprintable(line), INDENT)).join('\n')}\n`;
}

/** The text of a table cell. */
function formatValue(value: string | Party | null): string {
  const shown =
    value !== null && typeof value === 'object'
      ? [value.type, value.name ?? value.identifier].filter((part) => part !== null).join(' ')
      : (value ?? '-');
  const text = escapeUnprintable(shown);
  return text.length > VALUE_WIDTH ? `${text.slice(0, VALUE_WIDTH - 1)}…` : text;
}

/** One row per entry of the contract, one column per record. */
function formatTable(events: readonly AuditEvent[]): readonly string[] {
  if (events.length === 0) return [];
  const columns = [
    ROWS.map(([entry]) => entry),
    ...events.map((event) => ROWS.map(([entry]) => formatValue(event[entry]))),
  ].map((cells) => {
    const width = Math.max(...cells.map((cell) => cell.length));
    return cells.map((cell) => cell.padEnd(width));
  });
  return ROWS.map((_, row) => `  ${columns.map((cells) => cells[row]).join('  ')}`.trimEnd());
}

/** A time without a zone is never guessed: a contract can specify that it is in UTC. */
function suggestTimeFormats(fields: readonly FieldProfile[]): readonly string[] {
  return fields.flatMap(({ pointer, values: [value] }) =>
    typeof value === 'string' && parseTime(value) === null && parseIso(`${value}Z`) !== null
      ? [
          `  If ${pointer} is in UTC, set "occurredAt": {"at": "${pointer}", "as": "iso8601", "zone": "UTC"}.`,
        ]
      : [],
  );
}

function listUnmapped(fields: readonly FieldProfile[], { audit }: ConfiguredContract) {
  const mapped = JSON.stringify(audit?.event ?? {});
  const unmapped = fields
    .map(({ pointer }) => pointer)
    .filter((pointer) => !mapped.includes(JSON.stringify(pointer)));
  return unmapped.length === 0 ? [] : [`  Not mapped, only in \`raw\`: ${unmapped.join(', ')}.`];
}

/** Names the entries that no response contains: the query parameters of pagination. */
function listMissingEntries(trails: readonly AuditPage[]): readonly string[] {
  const missing = trails.flatMap((trail) => {
    const next = trail.next();
    return next !== null && 'missing' in next ? [next.missing] : [];
  });
  return [...new Set(missing)].map(
    (entry) =>
      `  The service has more pages. To request them, set ${entry} to the name of its query parameter.`,
  );
}
