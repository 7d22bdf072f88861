import { GatewayError } from '../errors.ts';
import { decodeSaved, type SavedResponse } from '../gateway/api/decode-saved.ts';
import { ConfigError } from '../gateway/config/config-error.ts';
import { loadSettings, toFileText, UTF_16 } from '../gateway/config/load.ts';
import { quote } from '../gateway/config/value-types.ts';
import type { UpstreamResponse } from '../util/upstream-response.ts';
import type { CommandLine } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import { describeNoBody, describeText } from './learn/describe-file.ts';
import type { NamedResponse } from './learn/learn-contract.ts';
import { connect } from './live-service.ts';
import type { CommandRuntime } from './runtime.ts';

/**
 * Loads the saved responses that the command line names, or else requests the audit trail from the service.
 * @throws ConfigError if a file cannot be used, or if there is neither a file nor a service.
 */
export async function loadResponses(
  runtime: CommandRuntime,
  commandLine: CommandLine,
): Promise<readonly NamedResponse[]> {
  const { from, headers: headersFile } = commandLine;
  if (from.length === 0 && headersFile === undefined)
    return [await fetchTrail(runtime, commandLine)];
  // Saved responses need no settings from the environment. Wrong options are reported nevertheless.
  const { config } = loadSettings({
    ...{ ...runtime, ...commandLine, ...COMMANDS.learn },
    environment: {},
  });
  const url = config.UPSTREAM_URL;
  if (headersFile === undefined)
    return from.map((file) => ({ name: file, response: loadSaved(runtime, '--from', file), url }));
  const [file, ...others] = from;
  if (others.length > 0)
    throw new ConfigError(['--headers describes one response: give one file with --from.']);
  const head = parseResponseHead(read(runtime, '--headers', headersFile));
  if (head === null)
    throw new ConfigError([
      `--headers ${quote(headersFile)} has no headers of an HTTP response. Save them with curl -D.`,
    ]);
  if (head.status < 200 || head.status > 299)
    throw new ConfigError([
      `--headers ${quote(headersFile)} has the HTTP status ${head.status}. Save a successful response.`,
    ]);
  const response =
    file === undefined ? { ...head, body: undefined } : loadSaved(runtime, '--from', file, head);
  return [{ name: file ?? headersFile, response, url }];
}

const NO_HEADERS: Head = { status: 200, headers: {} };

/** A response without its body. */
type Head = Omit<SavedResponse, 'body'>;

/**
 * Reads the file of an option.
 * @throws ConfigError that names the option if it cannot be read.
 */
export function read(
  { readFile }: Pick<CommandRuntime, 'readFile'>,
  option: string,
  file: string,
): string {
  let text: string | null;
  try {
    text = toFileText(readFile(file));
  } catch {
    throw new ConfigError([
      `${option} ${quote(file)} cannot be read. Check the path and its permissions.`,
    ]);
  }
  if (text === null) throw new ConfigError([`${option} ${quote(file)} ${UTF_16}`]);
  return text;
}

/**
 * Loads the saved body of a response.
 * @throws ConfigError that names the option if the file cannot be used.
 */
export function loadSaved(
  runtime: CommandRuntime,
  option: string,
  file: string,
  { status, headers }: Head = NO_HEADERS,
): UpstreamResponse {
  const body = read(runtime, option, file);
  const name = `${option} ${quote(file)}`;
  const kind = describeText(body);
  let response: UpstreamResponse;
  try {
    response = decodeSaved({ status, headers, body }, 'text');
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    if (kind !== undefined) throw new ConfigError([`${name} is not JSON, but ${kind}.`]);
    throw new ConfigError([
      `${option} ${quote(file)} is not JSON that Keytrail can parse. Save the body of a response, without its headers. Lines of JSON, XML and CSV are not supported.`,
    ]);
  }
  const other = describeNoBody(response.body);
  if (other !== undefined) throw new ConfigError([`${name} is ${other}.`]);
  // A text may be the response to a deletion.
  if (typeof response.body === 'string' && kind !== undefined)
    throw new ConfigError([`${name} is not JSON, but ${kind}.`]);
  return response;
}

/**
 * Parses the headers of a response, as `curl -D` writes them. Of several responses, such as redirects, the last counts.
 * Null if there is no status line.
 */
export function parseResponseHead(text: string): Head | null {
  const lines = text.split(/\r?\n/);
  const start = lines.findLastIndex((line) => STATUS_LINE.test(line));
  if (start < 0) return null;
  const headers: Record<string, string[]> = Object.create(null); // `__proto__` is a name like any other
  for (const line of lines.slice(start + 1)) {
    const [, name, value = ''] = HEADER.exec(line) ?? [];
    if (name === undefined) break;
    headers[name.toLowerCase()] = [...(headers[name.toLowerCase()] ?? []), value];
  }
  const entries = Object.entries(headers).map(
    ([name, values]) => [name, values.length > 1 ? values : values.join()] as const,
  );
  const status = Number(STATUS_LINE.exec(lines[start] ?? '')?.[1]);
  return { status, headers: Object.fromEntries(entries) };
}

const STATUS_LINE = /^HTTP\/\d(?:\.\d)? (\d{3})(?: |$)/;

/** A header (RFC 9110, section 5): a name and a value, without the spaces around it. */
const HEADER = /^([\w!#$%&'*+.^`|~-]+):[ \t]*(.*?)[ \t]*$/;

async function fetchTrail(
  runtime: CommandRuntime,
  commandLine: CommandLine,
): Promise<NamedResponse> {
  await using service = await connect(runtime, commandLine, 'learn');
  const response = await service.first();
  return { name: 'the response', response, isRequested: true, url: service.url };
}
