import { ConfigError } from '../../config/config-error.ts';
import { loadSettings } from '../../config/load.ts';
import { quote } from '../../config/value-types.ts';
import { GatewayError } from '../../errors.ts';
import { parseBearer } from '../../upstream/bearer.ts';
import { decodeResponse } from '../../upstream/decode-response.ts';
import type { RawResponse } from '../../upstream/http-request.ts';
import { path } from '../../upstream/path.ts';
import { createRestClient } from '../../upstream/rest-client.ts';
import { NO_TRACE, type UpstreamResponse } from '../../upstream/types.ts';
import type { CommandLine } from '../command-line.ts';
import { COMMANDS } from '../commands.ts';
import type { Runtime } from '../runtime.ts';

/** A response, and its name in the report. */
export type NamedResponse = { readonly name: string; readonly response: UpstreamResponse };

/**
 * Loads the saved responses that the command line names, or else requests the audit trail from the service.
 * @throws ConfigError if a file cannot be used, or if there is neither a file nor a service.
 */
export async function loadResponses(
  runtime: Runtime,
  commandLine: CommandLine,
): Promise<readonly NamedResponse[]> {
  const { from, headers: headersFile } = commandLine;
  if (from.length === 0 && headersFile === undefined)
    return [{ name: 'the response', response: await fetchTrail(runtime, commandLine) }];
  // Saved responses need no settings from the environment. Wrong options are reported nevertheless.
  loadSettings({ ...runtime, ...commandLine, ...COMMANDS.learn, environment: {} });
  if (headersFile === undefined)
    return from.map((file) => ({ name: file, response: loadSaved(runtime, file, NO_HEADERS) }));
  const [file, ...others] = from;
  if (others.length > 0)
    throw new ConfigError(['--headers describes one response: give one file with --from.']);
  const head = parseHeaders(read(runtime, '--headers', headersFile));
  if (head === null)
    throw new ConfigError([
      `--headers ${quote(headersFile)} has no headers of an HTTP response. Save them with curl -D.`,
    ]);
  if (head.status < 200 || head.status > 299)
    throw new ConfigError([
      `--headers ${quote(headersFile)} has the HTTP status ${head.status}. Save a successful response.`,
    ]);
  const response =
    file === undefined ? { ...head, body: undefined } : loadSaved(runtime, file, head);
  return [{ name: file ?? headersFile, response }];
}

const NO_HEADERS: Head = { status: 200, headers: {} };

/** A response without its body. */
type Head = Pick<RawResponse, 'status' | 'headers'>;

function read({ readFile }: Runtime, option: string, file: string): string {
  try {
    return readFile(file);
  } catch {
    throw new ConfigError([
      `${option} ${quote(file)} cannot be read. Check the path and its permissions.`,
    ]);
  }
}

function loadSaved(runtime: Runtime, file: string, { status, headers }: Head): UpstreamResponse {
  const body = Buffer.from(read(runtime, '--from', file));
  try {
    return decodeResponse({ status, headers, body }, 'text');
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw new ConfigError([
      `--from ${quote(file)} is not JSON that Keytrail can parse. Save the body of a response, without its headers. Lines of JSON, XML and CSV are not supported.`,
    ]);
  }
}

/**
 * Parses the headers of a response, as `curl -D` writes them. Of several responses, such as redirects, the last counts.
 * Null if there is no status line.
 */
export function parseHeaders(text: string): Head | null {
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

async function fetchTrail(runtime: Runtime, commandLine: CommandLine): Promise<UpstreamResponse> {
  const { config, tls } = loadSettings({ ...runtime, ...commandLine, ...COMMANDS.learn });
  const token = runtime.environment['KEYTRAIL_TOKEN'];
  if (config.UPSTREAM_URL === undefined || !token) {
    throw new ConfigError([
      'learn needs a saved response, as in --from response.json, or UPSTREAM_URL and an access token in the variable KEYTRAIL_TOKEN.',
    ]);
  }
  await using client = createRestClient({
    url: config.UPSTREAM_URL,
    timeoutMs: config.UPSTREAM_TIMEOUT_MS,
    connections: 1,
    maxBytes: config.UPSTREAM_MAX_BYTES,
    tls,
    now: () => runtime.now().getTime(),
  });
  return await client
    .of(NO_TRACE)
    .authorized(parseBearer(`Bearer ${token}`))
    .get('audit', path`/api/v1/audit`);
}
