import { checkContract } from '../../gateway/config/contract-schema.ts';
import { isObject } from '../../gateway/mapping/values.ts';

/** What a text is that is not JSON; undefined if that is not clear. Completes "is not JSON, but …". */
export function describeText(text: string): string | undefined {
  const start = text.trimStart();
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (/^HTTP\/\d/.test(start)) return 'a response with its headers. Save its body alone';
  if (/^(?:<!--.*?-->\s*)*<(?:!doctype html|html|head|body)\b/is.test(start))
    return 'HTML, as a page of an error, a login or a proxy. Check the URL, and that the request has a token';
  if (/^<[?!/\w]/.test(start)) return 'XML, which is not supported';
  if (lines.length > 1 && lines.every(isJson)) return 'lines of JSON, which are not supported';
  if (/^(?:`{3}|~{3}|#{1,6} |[-*+] |\d+\. |> |\|.*\|\s*$)/m.test(text) && !/^[[{]/.test(start))
    return 'Markdown, as documentation. Copy the JSON of the response out of it into a file';
  const [first = '', second = ''] = lines;
  const separator = /[,;\t]/.exec(first)?.[0];
  if (separator !== undefined && !/^[[{]/.test(start) && second.includes(separator))
    return 'CSV, which is not supported';
  return undefined;
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

/** What JSON is that is no body of a response; undefined if it may be one. Completes "is …". */
export function describeNoBody(body: unknown): string | undefined {
  if (!isObject(body)) return undefined;
  const { entries } = Object(body['log']);
  if (Array.isArray(entries) && entries.every((entry) => isObject(Object(entry).request)))
    return 'a recording (HAR), not a response. Read it with keytrail check or keytrail sandbox --recording, or save the text of one of its responses';
  const isContract = Object.keys(body).length > 0 && 'contract' in checkContract(body);
  return isContract ? 'a contract, not a response. Name it with --contract' : undefined;
}

/** Members that only a failure has (RFC 6749, RFC 9457, and as services do), and those that say what it was. */
const OF_FAILURE = /error|fault|exception|^detail$/i;
const OF_TEXT = /^(?:message|messages|msg|title|reason|details?)$/i;

/** Whether a body describes a failure, and has nothing else. */
export function isErrorBody(body: unknown): boolean {
  if (!isObject(body)) return false;
  const members = Object.entries(body).filter(([, value]) => !isEmpty(value));
  const isOther = ([name, value]: readonly [string, unknown]) =>
    (typeof value === 'object' && !/^meta/i.test(name)) || /token/i.test(name);
  const rest = members.filter(([name]) => !OF_FAILURE.test(name) && !OF_TEXT.test(name));
  if (rest.some(isOther)) return false;
  const { status, statusCode, code, success, ok } = body;
  const isFailure =
    success === false ||
    ok === false ||
    [status, statusCode, code].some((one) => Number(one) >= 400 && Number(one) < 600);
  return members.some(([name]) => OF_FAILURE.test(name) || (isFailure && OF_TEXT.test(name)));
}

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  value === '' ||
  value === 0 ||
  (typeof value === 'object' && Object.keys(value).length === 0);
