import { SETTING_NAMES, SETTINGS, type SettingName, toCommandOption } from '../config/settings.ts';
import { choice, filePath, flag, integer, type Parameter } from '../config/value-types.ts';

/** What a command does and takes. */
export type Command = {
  readonly summary: string;
  /** Its options that are not settings. */
  readonly options: readonly OptionName[];
  /** The settings that it reads, from options and from environment variables. */
  readonly settings: readonly SettingName[];
  /** Texts that replace the defaults of the settings. An empty one means no default. */
  readonly defaults?: Readonly<Partial<Record<SettingName, string>>>;
  /** What some of its options mean, if that differs from {@link OPTIONS}. */
  readonly meanings?: Readonly<
    Partial<Record<OptionName, Pick<Parameter, 'description' | 'defaultText'>>>
  >;
  /** Environment variables that are not settings, with what they hold. */
  readonly variables?: Readonly<Record<string, string>>;
};

/** The options that are not settings, without the hyphens before them. */
export const OPTIONS = {
  data: {
    ...filePath('SQLite'),
    defaultText: 'in memory, lost at exit',
    description: "file for the sandbox's data",
  },
  'strict-login': {
    ...flag,
    default: false,
    defaultText: 'off',
    description:
      "the sandbox accepts a client's secret once, then only its latest refresh token, as the service does",
  },
  from: {
    ...filePath('JSON'),
    defaultText: 'the trail is requested from UPSTREAM_URL',
    description: 'file with a saved response; may be followed by more files',
  },
  headers: {
    ...filePath('text'),
    defaultText: 'none',
    description: 'file with the headers of the saved response, as curl -D headers.txt writes it',
  },
  contract: {
    ...filePath('JSON'),
    defaultText: 'everything is inferred',
    description: 'contract to try: the responses are read by it, and the report shows how',
  },
  to: {
    ...filePath('HAR'),
    defaultText: 'required',
    description: 'file to write the recording to; it is replaced',
  },
  pages: {
    ...integer(1, 100),
    default: 3,
    description: 'pages of the audit trail to record',
  },
  login: {
    ...filePath('JSON'),
    defaultText: 'none',
    description: 'saved response to a login; it is recorded without its tokens',
  },
  output: {
    ...choice('table', 'json'),
    default: 'table',
    description: 'format of the comparison',
  },
  recording: {
    ...filePath('HAR'),
    defaultText: "the sandbox's own data",
    description: 'recording of a service, from which the audit trail is read',
  },
  client: {
    ...flag,
    default: false,
    defaultText: 'off',
    description: 'print it without federation, for code generators and other tools of clients',
  },
} as const satisfies Readonly<Record<string, Parameter>>;

/** An option that is not a setting. */
export type OptionName = keyof typeof OPTIONS;

/** The names of {@link OPTIONS}. */
export const OPTION_NAMES = Object.keys(OPTIONS) as OptionName[]; // it has no other keys

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
    KEYTRAIL_TOKEN: 'access token for the request to UPSTREAM_URL; there is no option for it',
  },
} as const satisfies Omit<Command, 'summary' | 'options'>;

/** Every command, by its name. */
export const COMMANDS = {
  serve: {
    summary: 'start the gateway (default); without UPSTREAM_URL, over an embedded sandbox service',
    options: ['data', 'strict-login'],
    settings: SETTING_NAMES,
  },
  sandbox: {
    summary: 'start only the sandbox service, on port 4001 unless PORT is set',
    options: ['data', 'strict-login', 'recording'],
    settings: ['HOST', 'PORT'],
    defaults: { PORT: '4001' },
  },
  learn: {
    summary: 'infer a contract from saved responses or from a live service, and print it as JSON',
    options: ['from', 'headers', 'contract'],
    ...LIVE_SERVICE,
  },
  record: {
    summary: 'record pages of the audit trail of a live service, without its personal data',
    options: ['to', 'pages', 'login'],
    ...LIVE_SERVICE,
    settings: [...LIVE_SERVICE.settings, 'KEYTRAIL_CONTRACT'],
  },
  check: {
    summary:
      'compare how a live service and a recording are mapped; exit status 0 same, 1 drift, 2 wrong usage, 3 service not reached or refused',
    options: ['from', 'output'],
    meanings: { from: { description: 'recording to compare with', defaultText: 'required' } },
    ...LIVE_SERVICE,
    settings: [...LIVE_SERVICE.settings, 'KEYTRAIL_CONTRACT'],
  },
  schema: {
    summary: 'print the GraphQL schema, as a federation subgraph or for clients',
    options: ['client'],
    settings: [],
  },
} as const satisfies Readonly<Record<string, Command>>;

/** The name of a command. */
export type CommandName = keyof typeof COMMANDS;

/** The names of all commands. */
export const COMMAND_NAMES = Object.keys(COMMANDS) as CommandName[]; // it has no other keys

/** The options of a command, by their names: its own, and those of its settings. */
export function parametersOf(command: CommandName): ReadonlyMap<string, Parameter> {
  const { options, settings }: Command = COMMANDS[command];
  return new Map<string, Parameter>([
    ...options.map((name) => [toCommandOption(name), OPTIONS[name]] as const),
    ...settings.map((name) => [toCommandOption(name), SETTINGS[name]] as const),
  ]);
}
