import { readFileSync, writeFileSync } from 'node:fs';
import {
  CONTRACT,
  type EntryTable,
  type EntryTypes,
  PAGING_STYLES,
} from '../../src/gateway/mapping/contract.ts';
import { AUDIT_EVENT } from '../../src/gateway/mapping/event-fields.ts';

/** What an entry of each kind may be, a row per form. */
const VALUES: Readonly<Record<keyof EntryTypes, readonly string[]>> = {
  accessToken: [
    '[pointers](schema.md#tokens); a header; or `""` if the body is the token as plain text. With a header or `""`, the body may be empty or something else than JSON',
  ],
  source: ['pointers, or a header'],
  expires: [
    '`{"at": "/expires_in", "as": "seconds"}`: pointers or a header, and a format: `seconds`, `milliseconds`, `jwt` (the claim `exp`), or a time format',
  ],
  errors: [
    'whether a 2xx response of any operation reports a failure, for each value at the pointers or in the header: `{"at": "/fault/no", "map": {"0": null, "12": "UNAUTHENTICATED", "77": "NOT_FOUND"}, "else": "UPSTREAM_ERROR"}`. Null: no failure. Also `FORBIDDEN`, `CONFLICT`, `RATE_LIMITED`, `BAD_USER_INPUT`. [More](contracts.md#failures-with-status-200)',
  ],
  records: [
    'pointer of the list, or of an object whose members are the records; `""` if the response itself is the list. An object that is one record is read as a list with that record',
  ],
  order: [
    '`"newest-first"` or `"oldest-first"`: with which record the trail begins, for the [live tail](live-tail.md#order-of-the-trail). Default: inferred from the times',
  ],
  identity: [
    'pointers, relative to a record: what identifies it, if a member differs in each response. Unlike other entries, the values at all of them count. For the [live tail](live-tail.md#what-it-promises) and for cursors. Default: the whole record',
  ],
  pointers: ['pointers; of a comma-separated list of IP addresses, the first is read'],
  time: [
    'pointers of times with a zone, whose format is detected',
    'with a format: `{"at": "/when", "as": "epoch-seconds"}`',
    'without a zone: `{"at": "/when", "as": "iso8601", "zone": "Europe/Berlin"}`',
    'in a format of its own: `{"at": "/when", "as": {"pattern": "yyyyMMddHHmmss"}, "zone": "UTC"}`',
    'in several fields: `{"at": ["/date", "/time"], "join": "T", "as": "iso8601", "zone": "UTC"}`; all of them must have a value',
  ],
  mappedText: [
    'pointers; or with a map: `{"at": "/op", "map": {"D": "key.delete"}}`; or with `split`: `{"at": "/performed_by", "split": ":", "part": 1}`',
  ],
  outcome: [
    'pointers of a boolean, of an HTTP status, or of a text in English such as `success`, `ok`, `denied` or `failed`; any other value gives null',
    'with a map, of anything: `{"at": "/status", "map": {"A": "SUCCESS", "D": "FAILURE"}}`; also with `split`',
    'a flag that is true for a failure needs a map: `{"at": "/is_failure", "map": {"false": "SUCCESS", "true": "FAILURE"}}`',
  ],
  text: ['pointers, or with `split`: `{"at": "/performed_by", "split": ":", "part": 2}`'],
  apiKey: [
    'whether it is an API key whose client ID is the identifier: `true`, or the types that are, as they are after a map: `["client", "robot"]`. Without this entry, `api_key`, `ApiKey`, `API keys` and the like are',
  ],
  deletion: [
    'what a 2xx response to a deletion means, for each value at the pointer: `{"at": "/result/status", "map": {"gone": "DELETED", "queued": "ACCEPTED", "none": "NOT_FOUND", "kept": "FAILED"}}`; also with `split`. Null: [the HTTP status alone decides](contracts.md#deletions)',
  ],
  schema: [
    'path or URL of the JSON Schema, with which editors complete and explain entries: `"node_modules/keytrail/dist/contract.schema.json"`',
  ],
  style: [PAGING_STYLES.map((style) => `\`${style}\``).join(', ')],
  flag: ['pointers of a flag that says whether there are more pages'],
  number: [
    'pointers of the number of this page or the offset of its first record; of the number of pages',
  ],
  start: ['the number of the first page, or the first offset, if no field has it'],
  parameter: [
    'the name of a query parameter of the service: see [Paging](#paging) and [Filter parameters](#filter-parameters)',
  ],
  follow: ['`"query"`: of a link to the next page, only the query is used'],
  switch: ['`true`: the next page has the records with the last value again'],
};

type Entry = { readonly name: string; readonly kind: keyof EntryTypes };

/** The table of entries in docs/contract-reference.md: those of one kind share a row. */
export function renderEntries(): string {
  const kinds = Map.groupBy(listEntries(CONTRACT), ({ kind }) => kind);
  const rows = [...kinds].flatMap(([kind, entries]) => {
    const names = entries.map(({ name }) => `\`${name}\``).join(', ');
    return VALUES[kind].map((value, index) => [index === 0 ? names : '', value]);
  });
  return renderTable(['entry', 'value'], rows);
}

function listEntries(table: Readonly<Record<string, EntryTable>>, parent = ''): readonly Entry[] {
  return Object.entries(table).flatMap(([key, entry]) => {
    const name = `${parent}${key}`;
    return 'kind' in entry ? { name, kind: entry.kind } : listEntries(entry.entries, `${name}.`);
  });
}

/** The table of fields in docs/schema.md. */
export function renderFields(): string {
  const tables = { AuditEvent: AUDIT_EVENT, AuditParty: AUDIT_EVENT.actor.entries };
  const rows = Object.entries(tables).flatMap(([type, table]) =>
    Object.entries(table).map(([name, { field }]) => [`\`${type}.${name}\``, field.description]),
  );
  return renderTable(['field', 'meaning'], rows);
}

function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const toLine = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`.replace('|  |', '| |');
  return `${toLine(head)}|${'---|'.repeat(head.length)}\n${rows.map(toLine).join('')}`;
}

if (import.meta.main)
  for (const [name, table] of [
    ['contract-reference', renderEntries()],
    ['schema', renderFields()],
  ] as const) {
    const path = new URL(`../../docs/${name}.md`, import.meta.url);
    const page = readFileSync(path, 'utf8');
    const after = /(?<=^<!-- The table is written by `npm run docs`. -->\n\n)(?:\|.*\n)*/m;
    writeFileSync(
      path,
      page.replace(after, () => table),
    );
  }
