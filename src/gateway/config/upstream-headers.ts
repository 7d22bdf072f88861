/** Headers of every call to the service, by their names in lower case. */
export type UpstreamHeaders = Readonly<Record<string, string>>;

/** The headers, and what is wrong with them: each problem completes "<setting> …", and none has a value. */
export type CheckedHeaders = {
  readonly headers: UpstreamHeaders;
  readonly problems: readonly string[];
};

/** Parses a file with a header per line, as `name: value`. Empty lines are ignored. */
export function parseUpstreamHeaders(text: string): CheckedHeaders {
  const lines = text.split(/\r?\n/).map((line, index) => {
    const [, name = '', value = ''] = /^([^:]*):[ \t]*(.*?)[ \t]*$/s.exec(line) ?? [];
    return { name, value, line, at: `line ${index + 1}` };
  });
  return checkHeaders(lines.filter(({ line }) => line.trim() !== ''));
}

/** A header before its check, and where it is: its name may be anything, even a value without a name. */
type GivenHeader = Readonly<Record<'name' | 'value' | 'at', string>>;

/** Checks that HTTP allows the headers, and that none is Keytrail's own. */
export function checkHeaders(given: readonly GivenHeader[]): CheckedHeaders {
  const headers = new Map<string, string>();
  const problems: string[] = [];
  for (const { name: asGiven, value, at } of given) {
    const name = asGiven.toLowerCase();
    const isRepeated = headers.has(name);
    headers.set(name, value);
    if (!TOKEN.test(name))
      problems.push(`must have \`name: value\` in ${at}, with a name that HTTP allows`);
    else if (OWN.test(name))
      problems.push(
        `must not have the header ${name}: Keytrail sets it, or it belongs to the connection`,
      );
    else if (isRepeated) problems.push(`must have the header ${name} only once`);
    else if (!VALUE.test(value))
      problems.push(`must have visible ASCII characters as the value of the header ${name}`);
  }
  return { headers: Object.fromEntries(headers), problems };
}

/** RFC 9110, section 5.6.2. */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;

/** RFC 9110, section 5.5, of which new headers should use ASCII only. Empty, a value is missing. */
const VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;

/** What Keytrail sends or must not send itself, and what undici refuses or sets. */
const OWN = new RegExp(
  `^(?:${[
    ...['accept', 'accept-encoding', 'authorization', 'content-.*', 'cookie', 'user-agent'],
    ...['traceparent', 'tracestate', 'via', 'x-forwarded-for', 'x-request-id'],
    ...['connection', 'expect', 'host', 'keep-alive', 'proxy-.*', 'te', 'trailer'],
    ...['transfer-encoding', 'upgrade'],
  ].join('|')})$`,
);
