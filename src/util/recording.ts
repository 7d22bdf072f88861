import { validateHeaderName, validateHeaderValue } from 'node:http';

/** A response of a recording. */
export type RecordedResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** Responses of a service to GET requests. */
export type Recording = {
  /** What precedes `/api/v1` in the URLs of the service. */
  readonly url: string;
  /** By path, with the parameters of the query in order. */
  readonly responses: ReadonlyMap<string, RecordedResponse>;
  /** A digest of the contract that it was recorded with. Not in files of earlier versions and of other programs. */
  readonly contract: string | undefined;
};

/**
 * Parses a HAR 1.2.
 * @throws TypeError for a text that is none, or has no response to a GET below `/api/v1`; and for an entry that cannot be
 * played back. The message names it by its index and its path, without the query.
 */
export function parseRecording(text: string): Recording {
  const responses = new Map<string, RecordedResponse>();
  let url: string | undefined;
  const { entries, contract } = parseLog(text);
  for (const [index, entry] of entries.entries()) {
    const { request, response } = Object(entry);
    const { method, url: target } = Object(request);
    const name = `log.entries[${index}]`;
    if (typeof method !== 'string' || typeof target !== 'string')
      throw new TypeError(`${name}: request.method and request.url must be strings. ${ADVICE}`);
    const [, base, path = ''] = READ.exec(`${method} ${target}`) ?? [];
    if (base === undefined) continue;
    if (!URL.canParse(base))
      throw new TypeError(`${name}: request.url must be an absolute URL. ${ADVICE}`);
    url ??= base;
    try {
      responses.set(toKey(path), parseResponse(response));
    } catch (error) {
      throw new TypeError(
        `${name}, GET ${new URL(target).pathname}: ${Object(error).message} ${ADVICE}`,
      );
    }
  }
  if (url === undefined) throw new TypeError(NO_RECORDING);
  return { url, responses, contract };
}

const ADVICE = 'Correct it, or remove the entry.';
const NO_RECORDING = 'This is not a recording of keytrail record.';

const READ = /^GET (https?:\/\/[^?#]*?)(\/api\/v1\/.*)$/;

function parseLog(text: string) {
  try {
    const { entries, _keytrail } = JSON.parse(text.trim()).log; // without a byte order mark
    const { contract } = Object(_keytrail);
    if (Array.isArray(entries))
      return { entries, contract: typeof contract === 'string' ? contract : undefined };
  } catch {}
  throw new TypeError(NO_RECORDING);
}

/** Headers of the connection and of a body as it was encoded. The text of a HAR is decoded. */
const UNUSED_HEADERS =
  /^(?:connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-(?:encoding|length))$/i;

function parseResponse(response: unknown): RecordedResponse {
  const { status, headers, content } = Object(response);
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new TypeError('response.status must be an integer from 200 to 599.');
  const { text = '', encoding } = Object(content);
  if (Object(content) !== content || typeof text !== 'string')
    throw new TypeError('response.content must be an object, and its text a string.');
  if (encoding !== undefined && encoding !== 'base64')
    throw new TypeError('response.content.encoding must be base64, or missing.');
  const body = encoding === 'base64' ? Buffer.from(text, 'base64').toString() : text;
  return { status, headers: parsePairs(headers), body };
}

function parsePairs(pairs: unknown): Readonly<Record<string, string>> {
  const headers = new Headers();
  try {
    if (!Array.isArray(pairs)) throw new TypeError();
    for (const { name, value } of pairs) {
      validateHeaderName(name);
      validateHeaderValue(name, value);
      if (typeof value !== 'string') throw new TypeError();
      if (!UNUSED_HEADERS.test(name)) headers.append(name, value);
    }
  } catch {
    throw new TypeError('response.headers must be pairs of a name and a value that HTTP allows.');
  }
  return Object.fromEntries(headers);
}

/** The response to a path, which may have a query; the order of its parameters does not matter. */
export function findResponse({ responses }: Recording, path: string): RecordedResponse | undefined {
  return responses.get(toKey(path));
}

function toKey(target: string): string {
  const [path, query] = target.split(/\?(.*)/s);
  return [path, ...new URLSearchParams(query).toString().split('&').toSorted()].join('&');
}
