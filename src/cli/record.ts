import { STATUS_CODES } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { ConfigError } from '../config/config-error.ts';
import { quote } from '../config/value-types.ts';
import { GatewayError } from '../errors.ts';
import { EVENT_FIELDS } from '../inference/event-fields.ts';
import { completeLogin } from '../inference/login.ts';
import type { ConfiguredContract } from '../mapping/contract.ts';
import { readLogin } from '../mapping/login.ts';
import { redact } from '../tools/record/redact.ts';
import { eventsOf, readTrail, type TrailPage } from '../tools/record/trail.ts';
import type { UpstreamResponse } from '../upstream/types.ts';
import { wrap } from '../util/wrap.ts';
import type { CommandLine } from './command-line.ts';
import { connect } from './live-service.ts';
import { openRecording } from './open-recording.ts';
import { loadSaved } from './read-files.ts';
import type { Runtime } from './runtime.ts';

/**
 * Runs `keytrail record`: reads pages of the trail of a live service, and writes them without credentials and personal
 * data to a file that maps as they do.
 * @returns the exit status: 1 if the file would map differently, or hold a credential. Then it is not written.
 * @throws ConfigError for invalid settings and files, GatewayError if the service is not reached or refuses.
 */
export async function record(runtime: Runtime, commandLine: CommandLine): Promise<number> {
  const { to, pages: maxPages, login: file } = commandLine;
  await using service = connect(runtime, commandLine, 'record');
  if (to === undefined) throw new ConfigError(['record needs a file to write, as in --to FILE.']);
  const { url, token, contract } = service;
  const login = file === undefined ? null : mapLogin(loadSaved(runtime, '--login', file), contract);
  const pages = await readTrail(service, contract, maxPages);
  const { accessToken = '', refreshToken } = login?.tokens ?? {};
  const redacted = redact(pages, login, [token, accessToken, refreshToken ?? '']);
  const responses = redacted.pages.values();
  const get = async () => responses.next().value ?? { status: 200, headers: {}, body: null };
  const formatAndRead = async () => {
    // The URLs are those to which the redacted links and cursors lead.
    const redactedPages = await readTrail({ url, get }, contract, pages.length);
    const text = formatHar(url, redactedPages, redacted.login, runtime);
    const copy = await readTrail(openRecording(text, to), contract, pages.length);
    const loginCopy = redacted.login && mapLogin(redacted.login, contract);
    return isDeepStrictEqual(describe(copy, loginCopy), describe(pages, login)) ? text : null;
  };
  const text = await formatAndRead().catch((error) => {
    if (error instanceof GatewayError || error instanceof ConfigError) return null;
    throw error;
  });
  if (text === null || redacted.holdsCredential(text)) {
    const problem = text
      ? 'it would contain a credential'
      : 'without credentials and personal data, it would be mapped differently';
    runtime.stderr.write(`keytrail record: ${quote(to)} is not written: ${problem}.\n`);
    return 1;
  }
  try {
    if (to === STDOUT) runtime.stdout.write(text);
    else runtime.replaceFile(to, text, runtime.createId());
  } catch {
    throw new ConfigError([
      `--to ${quote(to)} cannot be written. Name a regular file, or a new one in a folder that exists and that you may write to; or ${STDOUT}, for a pipe.`,
    ]);
  }
  const counts = `records ${eventsOf(pages).length}, pages ${pages.length}, stand-ins ${redacted.standIns}`;
  const summary = `Recorded to ${quote(to)}: ${counts}. Fields that Keytrail does not map are as the service sent them: read the file before you share it.`;
  runtime.stderr.write(`${wrap(summary, '  ').join('\n')}\n`);
  return 0;
}

/** Written as a stream, also if it is a pipe or a file that another program has opened. */
const STDOUT = '/dev/stdout';

/** Maps a saved response to a login. @throws ConfigError without an access token. */
function mapLogin(response: UpstreamResponse, configured: ConfiguredContract) {
  const contract = completeLogin(response, configured.login);
  try {
    return { response, contract, tokens: readLogin(contract, response, new Date(0)) };
  } catch {
    throw new ConfigError(['--login: the response has no access token.']);
  }
}

/** Describes how responses are mapped: times and outcomes as they are; of other values, which of them are equal. */
function describe(pages: readonly TrailPage[], login: ReturnType<typeof mapLogin> | null) {
  const fields = EVENT_FIELDS.map(({ name, read }) => {
    const values = eventsOf(pages).map(read);
    const indices = new Map(values.map((value, index) => [value, index]));
    const isKept = name === 'occurredAt' || name === 'outcome';
    return isKept ? values : values.map((value) => value && indices.get(value));
  });
  const lists = pages.map(({ contract, events }) => [contract, events.length]);
  const { tokenType, expiresAt, refreshToken } = login?.tokens ?? {};
  return [fields, lists, login?.contract, tokenType, expiresAt, refreshToken && true];
}

/** Formats a HAR 1.2. */
function formatHar(
  url: URL,
  pages: readonly TrailPage[],
  login: UpstreamResponse | null,
  { version, now }: Runtime,
): string {
  const message = { httpVersion: 'HTTP/1.1', cookies: [], headersSize: -1, bodySize: -1 };
  const toPairs = (entries: Iterable<readonly [string, unknown]>) =>
    [...entries].map(([name, value]) => ({ name, value }));
  const toEntry = (method: string, path: string, { status, headers, body }: UpstreamResponse) => {
    const { href, searchParams } = new URL(`${url.href.replace(/(?<!\/)\/+$/, '')}${path}`);
    const text = JSON.stringify(body);
    const mimeType = String(headers['content-type'] ?? 'application/json');
    return {
      startedDateTime: now().toISOString(),
      time: 0,
      request: { method, url: href, ...message, headers: [], queryString: toPairs(searchParams) },
      response: {
        ...{ status, statusText: STATUS_CODES[status] ?? '', ...message, redirectURL: '' },
        headers: toPairs(Object.entries(headers)),
        content: { size: Buffer.byteLength(text), mimeType, text },
      },
      cache: {},
      timings: { send: 0, wait: 0, receive: 0 },
    };
  };
  const entries = [
    ...(login === null ? [] : [toEntry('POST', '/api/v1/auth/login', login)]),
    ...pages.map(({ path, response }) => toEntry('GET', path, response)),
  ];
  const log = { version: '1.2', creator: { name: 'keytrail', version }, entries };
  return `${JSON.stringify({ log }, null, 2)}\n`;
}
