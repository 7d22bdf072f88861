import {
  baseUrl,
  choice,
  filePath,
  flag,
  integer,
  limit,
  listOf,
  type Parameter,
  pointInTime,
  startTime,
  text,
  type ValueType,
} from '../gateway/config/value-types.ts';
import { EVENT_FIELD_NAMES } from './event-fields.ts';

/** The options that are not settings, without the hyphens before them. */
export const OPTIONS = {
  data: option(filePath('SQLite'), "file for the sandbox's data", 'in memory, lost at exit'),
  'strict-login': onOff(
    "the sandbox accepts a client's secret once, then only its latest refresh token, as the service does",
  ),
  from: option(
    filePath('JSON'),
    'file with a saved response; may be followed by more files',
    'the trail is requested from UPSTREAM_URL',
  ),
  headers: option(
    filePath('text'),
    'file with the headers of the saved response, as curl -D headers.txt writes it',
    'none',
  ),
  contract: option(
    filePath('JSON'),
    'contract to try: the responses are read by it, and the report shows how',
    'everything is inferred',
  ),
  complete: onOff(
    'also print null for each field of an event that was not found; from 50 records on, always',
  ),
  to: option(filePath('HAR'), 'file to write the recording to; it is replaced', 'required'),
  pages: { ...integer(1, 100), default: 3, description: 'pages of the audit trail to record' },
  login: option(
    filePath('JSON'),
    'saved response to a login; it is recorded without its tokens',
    'none',
  ),
  output: option(
    choice('table', 'json', 'ndjson', 'csv', 'ecs', 'ocsf'),
    'format of the comparison',
    'table',
  ),
  recording: option(
    filePath('HAR'),
    'recording of a service, from which the audit trail is read',
    "the sandbox's own data",
  ),
  client: onOff('print it without federation, for code generators and other tools of clients'),
  gateway: option(
    { ...baseUrl, form: 'the URL of a running gateway' },
    'send requests to this gateway, not to UPSTREAM_URL',
    'none',
  ),
  session: option(filePath('session'), 'tokens of a login', 'see keytrail status'),
  since: option(startTime, 'events since: 90m, 1h30m, 7d, today, yesterday, 2026-11-24', 'none'),
  until: option(pointInTime, 'events before then', 'none'),
  actor: option(
    { ...text('an identifier or a name'), placeholder: 'NAME' },
    'events of this actor: its identifier or its name',
    'none',
  ),
  target: option(
    { ...text('an identifier or a name'), placeholder: 'NAME' },
    'events with this target',
    'none',
  ),
  action: option(
    { ...listOf(text('an action')), placeholder: 'NAME' },
    'events with this action; may be given several times',
    'none',
  ),
  outcome: option(choice('success', 'failure'), 'events with this outcome', 'none'),
  limit: option(limit, 'events', '50; all with --since, -f, --checkpoint'),
  fields: option(
    {
      ...listOf(choice(...EVENT_FIELD_NAMES)),
      form: `a list of ${EVENT_FIELD_NAMES.join(', ')}`,
      placeholder: 'NAME,…',
    },
    listFields(),
    'none',
  ),
  raw: onOff('also the record as the service sent it'),
  follow: onOff('go on with new events until it is stopped'),
  checkpoint: option(
    filePath('checkpoint'),
    'remembers what was written: the next run goes on there',
    'none',
  ),
  explain: onOff('print to stderr where each field was found, or why not'),
  local: onOff('zone of this machine, not UTC: table, today, yesterday'),
  yes: onOff('do not ask; required without a terminal'),
  'dry-run': onOff('delete nothing, and print WOULD_DELETE: it does not tell whether a key exists'),
  'unless-active-since': option(
    pointInTime,
    'skip keys that acted since then, and those of which that is not known',
    'off',
  ),
  errors: option(choice('text', 'json'), 'format of errors', 'text'),
  header: onOff('print it as a header, for curl -H @-'),
  show: onOff('print it although a terminal shows it'),
  check: onOff('also send the access token: it reads one event, which the trail may show'),
  force: onOff('also remove a lock that a login has kept'),
  verbose: onOff('print a line to stderr for each request'),
  'keep-going': onOff('go on after an outcome that is unknown'),
} as const satisfies Readonly<Record<string, Parameter>>;

/** The names for `--fields`, with the parts of actor and target at the end. */
function listFields(): string {
  const parts = EVENT_FIELD_NAMES.flatMap((name) => /\..*/.exec(name) ?? []);
  const hasParts = (name: string) => EVENT_FIELD_NAMES.some((each) => each.startsWith(`${name}.`));
  const names = EVENT_FIELD_NAMES.filter((name) => !name.includes('.'));
  const sorted = [...names.filter((name) => !hasParts(name)), ...names.filter(hasParts)];
  return `${sorted.join(', ')}, or their ${[...new Set(parts)].join(', ')}`;
}

/** An option that has a value, and its default in words. */
function option<const Type extends ValueType>(
  type: Type,
  description: string,
  defaultText: string,
) {
  return { ...type, description, defaultText };
}

/** An option that is off by default. */
function onOff(description: string, defaultText = 'off') {
  return { ...flag, default: false as const, description, defaultText };
}

/** An option that is not a setting. */
export type OptionName = keyof typeof OPTIONS;

/**
 * The short names of options, and the long ones that they stand for. `-v` is `--verbose` after a command that has it, and
 * else `--version`.
 */
export const SHORT_NAMES: Readonly<Record<string, string>> = {
  ...{ f: '--follow', n: '--limit', o: '--output', v: '--verbose', V: '--version', h: '--help' },
};

/** The short name of an option with its hyphen; undefined if it has none. */
export function shortNameOf(name: string): string | undefined {
  const [short] = Object.entries(SHORT_NAMES).find(([, long]) => long === name) ?? [];
  return short && `-${short}`;
}

/** The names of {@link OPTIONS}. */
export const OPTION_NAMES = Object.keys(OPTIONS) as OptionName[]; // it has no other keys
