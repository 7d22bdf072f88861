import {
  SETTING_NAMES,
  SETTINGS,
  type SettingName,
  toCommandOption,
} from '../gateway/config/settings.ts';
import { choice, filePath, type Parameter } from '../gateway/config/value-types.ts';
import type { ExitStatus } from './exit-status.ts';
import { OPTIONS, type OptionName } from './options.ts';

/** What a command does and takes. */
export type Command = {
  readonly summary: string;
  /** The words that follow it. Default: none. */
  readonly operands?: Operands;
  /** Its options that are not settings. */
  readonly options: readonly OptionName[];
  /** The settings that it reads, from options and from environment variables. */
  readonly settings: readonly SettingName[];
  /** Texts that replace the defaults of the settings. An empty one means no default. */
  readonly defaults?: Readonly<Partial<Record<SettingName, string>>>;
  /** What some of its options mean, if that differs from {@link OPTIONS}. */
  readonly meanings?: Readonly<Partial<Record<OptionName, Partial<Parameter>>>>;
  /** Environment variables that are not settings, with what they hold. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Command lines for its help. */
  readonly examples?: readonly string[];
  /** Its exit statuses, apart from those that all commands have. */
  readonly statuses?: readonly ExitStatus[];
};

/** The words that follow a command. */
export type Operands = {
  /** As the help names them: `CLIENT_ID`, or `ID…` for several. */
  readonly form: string;
  readonly min: number;
  readonly max: number;
  /** What to do about a wrong number of them. It must not repeat them: they may hold a secret. */
  readonly advice: string;
};

/** Shells that `keytrail completion` has a script for. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** What a command needs to read the audit trail of a live service. */
const LIVE_SERVICE = {
  settings: [
    'UPSTREAM_URL',
    'UPSTREAM_TIMEOUT_MS',
    'UPSTREAM_MAX_BYTES',
    'UPSTREAM_CA_FILE',
    'UPSTREAM_CERT_FILE',
    'UPSTREAM_KEY_FILE',
    'UPSTREAM_HEADERS_FILE',
    'UPSTREAM_ALLOW_HTTP',
    'HTTPS_PROXY',
    'HTTP_PROXY',
    'NO_PROXY',
  ],
  defaults: { UPSTREAM_URL: '' }, // there is no sandbox
  variables: {
    KEYTRAIL_TOKEN: 'access token, instead of a session; it has no option',
  },
} as const satisfies Omit<Command, 'summary' | 'options'>;

/** What a command needs to send operations to a gateway. */
const CLIENT = {
  settings: [...LIVE_SERVICE.settings, 'KEYTRAIL_CONTRACT'],
  defaults: LIVE_SERVICE.defaults,
} as const;

const WITH_TOKEN = { ...CLIENT, variables: LIVE_SERVICE.variables } as const;

const ANY_NUMBER = { min: 0, max: Number.POSITIVE_INFINITY, advice: '' } as const;

/** The options of each command that sends requests and ends. */
const REPORTS = ['verbose', 'errors'] as const;

/** Of a command that sends requests with a login, which it may renew: 4 if it is not known whether that was carried out. */
const WITH_LOGIN = [1, 3, 4, 6, 130] as const;

/** Every command, by its name. */
export const COMMANDS = {
  serve: {
    summary: 'start the gateway (default, except on a terminal)',
    options: ['data', 'strict-login'],
    settings: SETTING_NAMES,
    variables: {
      OTEL_EXPORTER_OTLP_ENDPOINT:
        "URL of an OpenTelemetry collector that gets the spans; the SDK reads OpenTelemetry's other variables too",
    },
  },
  sandbox: {
    summary: 'start only the sandbox service, on port 4001 unless PORT is set',
    options: ['data', 'strict-login', 'recording'],
    settings: ['HOST', 'PORT'],
    defaults: { PORT: '4001' },
  },
  learn: {
    summary: 'print a contract inferred from responses or a live service',
    operands: { form: '[FILE…]', ...ANY_NUMBER },
    options: ['from', 'headers', 'contract', 'complete', 'session', ...REPORTS],
    ...LIVE_SERVICE,
    statuses: WITH_LOGIN,
  },
  record: {
    summary: 'record pages of a live audit trail, without personal data',
    statuses: WITH_LOGIN,
    options: ['to', 'pages', 'login', 'session', ...REPORTS],
    ...LIVE_SERVICE,
    settings: [...LIVE_SERVICE.settings, 'KEYTRAIL_CONTRACT'],
  },
  check: {
    summary: 'compare how a live service and a recording are mapped',
    options: ['from', 'output', 'session', ...REPORTS],
    meanings: {
      from: { description: 'recording to compare with', defaultText: 'required' },
      output: choice('table', 'json'),
    },
    ...LIVE_SERVICE,
    settings: [...LIVE_SERVICE.settings, 'KEYTRAIL_CONTRACT'],
    statuses: WITH_LOGIN,
  },
  login: {
    summary: 'log in, and keep the tokens in a file',
    operands: {
      form: 'CLIENT_ID',
      min: 1,
      max: 1,
      advice:
        'login takes one client ID. It asks for the secret, or reads it from standard input: never from an argument.',
    },
    options: ['gateway', 'session', ...REPORTS],
    ...CLIENT,
    statuses: WITH_LOGIN,
  },
  audit: {
    summary: 'print, export or follow the audit trail',
    options: [
      ...(['since', 'until', 'actor', 'target', 'action', 'outcome', 'limit'] as const),
      ...(['output', 'fields', 'raw', 'local', 'follow', 'checkpoint', 'explain'] as const),
      ...(['gateway', 'session'] as const),
      ...REPORTS,
    ],
    meanings: {
      output: {
        ...choice('table', 'ndjson', 'json', 'csv', 'ecs', 'ocsf'),
        fromText: (given: string) => (given === 'json' ? 'ndjson' : given),
        description: 'format of the events',
        defaultText: 'table on a terminal, else ndjson',
      },
      errors: { defaultText: 'text; json with -o, not table' },
    },
    ...WITH_TOKEN,
    examples: [
      'keytrail audit --since today --outcome failure',
      'keytrail audit -f --since 1h --actor ann',
      'keytrail audit --checkpoint trail.json -o ndjson >> trail.ndjson',
    ],
    statuses: [...WITH_LOGIN, 5],
  },
  'delete-key': {
    summary: 'delete API keys one by one, and print the outcome of each',
    operands: { form: 'ID…', ...ANY_NUMBER },
    options: [
      ...(['from', 'yes', 'dry-run', 'unless-active-since', 'keep-going'] as const),
      ...(['gateway', 'session'] as const),
      ...REPORTS,
    ],
    meanings: {
      from: {
        ...filePath('text'),
        description: 'file with one ID per line, or - for standard input',
        defaultText: 'none',
      },
    },
    ...WITH_TOKEN,
    statuses: WITH_LOGIN,
  },
  status: {
    summary: 'list the logins that are kept, without their tokens',
    options: ['check', 'output', 'gateway', 'session', ...REPORTS],
    meanings: { output: { ...choice('table', 'json'), description: 'format of the list' } },
    ...WITH_TOKEN,
    statuses: WITH_LOGIN,
  },
  token: {
    summary: 'print the access token of a login, renewed if needed',
    options: ['header', 'show', 'gateway', 'session', ...REPORTS],
    ...WITH_TOKEN,
    statuses: WITH_LOGIN,
  },
  logout: {
    summary: 'remove a login that is kept; its tokens stay valid',
    operands: { form: '[CLIENT_ID]', min: 0, max: 1, advice: 'logout takes one client ID.' },
    options: ['force', 'gateway', 'session', ...REPORTS],
    ...CLIENT,
    statuses: [1, 6, 130],
  },
  completion: {
    summary: 'print a script that completes commands and options in a shell',
    operands: {
      form: SHELLS.join('|'),
      min: 1,
      max: 1,
      advice: `completion takes one shell: ${SHELLS.join(', ')}.`,
    },
    options: [],
    settings: [],
    statuses: [1],
  },
  schema: {
    summary: 'print the GraphQL schema, as a subgraph or for clients',
    options: ['client'],
    settings: [],
    statuses: [1],
  },
} as const satisfies Readonly<Record<string, Command>>;

/** The name of a command. */
export type CommandName = keyof typeof COMMANDS;

/** The names of all commands. */
export const COMMAND_NAMES = Object.keys(COMMANDS) as CommandName[]; // it has no other keys

/** The options of a command that are not settings, with what they mean there. */
export function optionsOf(command: CommandName): Readonly<Partial<Record<OptionName, Parameter>>> {
  const { options, meanings = {} }: Command = COMMANDS[command];
  return Object.fromEntries(options.map((name) => [name, { ...OPTIONS[name], ...meanings[name] }]));
}

/** The options of a command, by their names: its own, and those of its settings. */
export function parametersOf(command: CommandName): ReadonlyMap<string, Parameter> {
  const { settings }: Command = COMMANDS[command];
  return new Map<string, Parameter>([
    ...Object.entries(optionsOf(command)).map(
      ([name, option]) => [toCommandOption(name), option] as const,
    ),
    ...settings.map((name) => [toCommandOption(name), SETTINGS[name]] as const),
  ]);
}
