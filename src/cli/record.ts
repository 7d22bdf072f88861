import { STATUS_CODES } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { ConfigError } from '../config/config-error.ts';
import { quote } from '../config/value-types.ts';
import { GatewayError } from '../errors.ts';
import { EVENT_FIELDS } from '../inference/event-fields.ts';
import { completeLogin } from '../inference/login.ts';
import type { ConfiguredContract } from '../mapping/contract.ts';
import { readLogin } from '../mapping/login.ts';
import type { UpstreamResponse } from '../upstream/types.ts';
import type { CommandLine } from './command-line.ts';
import { loadSaved } from './learn/responses.ts';
import { connect } from './live-service.ts';
import { redact } from './recording/redact.ts';
import { eventsOf, openRecording, readTrail, type TrailPage } from './recording/trail.ts';
import type { Runtime } from './runtime.ts';
import { wrap } from './wrap.ts';

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
  const login = file === undefined ? null : loadSaved(runtime, '--login', file);
  if (login !== null && mapLogin(login, contract) === null)
    throw new ConfigError([`--login ${quote(String(file))} has no access token.`]);
  const pages = await readTrail(service, contract, maxPages);
  const redacted = redact(pages, login, token, contract);
  const text = await format(redacted, url, contract, runtime).catch(nullIfInvalid);
  const copies =
    text && (await readTrail(openRecording(text, to), contract, pages.length).catch(nullIfInvalid));
  const isSame =
    isDeepStrictEqual(copies && mapTrail(copies), mapTrail(pages)) &&
    isDeepStrictEqual(mapLogin(redacted.login, contract), mapLogin(login, contract));
  if (text === null || !isSame || redacted.holdsCredential(text)) {
    const problem = isSame
      ? 'it would contain a credential'
      : 'without credentials and personal data, it would be mapped differently';
    runtime.stderr.write(`keytrail record: ${quote(to)} is not written: ${problem}.\n`);
    return 1;
  }
  try {
    runtime.replaceFile(to, text);
  } catch {
    throw new ConfigError([`--to ${quote(to)} cannot be written. Check its folder.`]);
  }
  const counts = `records ${eventsOf(pages).length}, pages ${pages.length}, stand-ins ${redacted.standIns}`;
  const summary = `Recorded to ${quote(to)}: ${counts}. Fields that Keytrail does not map are as the service sent them: read the file before you share it.`;
  runtime.stderr.write(`${wrap(summary, '  ').join('\n')}\n`);
  return 0;
}

function nullIfInvalid(error: unknown): null {
  if (error instanceof GatewayError || error instanceof ConfigError) return null;
  throw error;
}

/** Formats a HAR 1.2. The URLs are those to which the redacted links and cursors lead. */
async function format(
  { pages, login }: Pick<ReturnType<typeof redact>, 'pages' | 'login'>,
  url: URL,
  contract: ConfiguredContract,
  { version, now }: Runtime,
): Promise<string> {
  const responses = pages.values();
  const get = async () => {
    const { value } = responses.next();
    if (value === undefined) throw new GatewayError('UPSTREAM_BAD_RESPONSE');
    return value;
  };
  const copies = await readTrail({ url, get }, contract, pages.length);
  const toEntry = (method: string, path: string, { status, headers, body }: UpstreamResponse) => {
    const target = new URL(`${url.href.replace(/\/+$/, '')}${path}`);
    const text = JSON.stringify(body);
    const mimeType = String(headers['content-type'] ?? 'application/json');
    const message = { httpVersion: 'HTTP/1.1', cookies: [], headersSize: -1, bodySize: -1 };
    const queryString = [...target.searchParams].map(([name, value]) => ({ name, value }));
    return {
      startedDateTime: now().toISOString(),
      time: 0,
      request: { method, url: target.href, ...message, headers: [], queryString },
      response: {
        ...{ status, statusText: STATUS_CODES[status] ?? '', ...message, redirectURL: '' },
        headers: Object.entries(headers).map(([name, value]) => ({ name, value })),
        content: { size: Buffer.byteLength(text), mimeType, text },
      },
      cache: {},
      timings: { send: 0, wait: 0, receive: 0 },
    };
  };
  const entries = [
    ...(login === null ? [] : [toEntry('POST', '/api/v1/auth/login', login)]),
    ...copies.map(({ path, response }) => toEntry('GET', path, response)),
  ];
  const log = { version: '1.2', creator: { name: 'keytrail', version }, entries };
  return `${JSON.stringify({ log }, null, 2)}\n`;
}

/** How a login is mapped, apart from its tokens; null without an access token. */
function mapLogin(response: UpstreamResponse | null, { login }: ConfiguredContract) {
  if (response === null) return null;
  try {
    const contract = completeLogin(response, login);
    const { refreshToken, tokenType, expiresAt } = readLogin(contract, response, new Date(0));
    return { contract, hasRefreshToken: refreshToken !== null, tokenType, expiresAt };
  } catch {
    return null;
  }
}

/** How the trail is mapped: times and outcomes as they are; of other values, which of them are equal. */
function mapTrail(pages: readonly TrailPage[]) {
  const fields = EVENT_FIELDS.map(({ name, read }) => {
    const values = eventsOf(pages).map(read);
    if (name === 'occurredAt' || name === 'outcome') return values;
    const numbers = new Map([...new Set(values)].map((value, index) => [value, index]));
    return values.map((value) => value && numbers.get(value));
  });
  return [fields, pages.map(({ contract, page }) => [contract, page.length, page.total()])];
}
