import { GatewayError } from '../../errors.ts';

declare const encoded: unique symbol;

/** A path with its query, in which every value is percent-encoded. Only this file creates one. */
export type EncodedPath = string & { readonly [encoded]: true };

/** A path of the service. */
export type Path = {
  /** The path with named placeholders and without a query, such as `/api/v1/secrets/{client_id}`: OpenTelemetry's `url.template`. */
  readonly template: string;
  /** The path to send, with its query. */
  readonly value: EncodedPath;
  /** The query parameters in `value`. The query of a link is one without a name. */
  readonly query?: readonly QueryParameter[];
};

/** One query parameter, not encoded. */
export type QueryParameter = {
  readonly name: string;
  readonly value: string;
  /**
   * What `showPath` may show: the name if the contract wrote it, `all` if the value is ours as well, `page` if it requests
   * a page other than the first. Default: nothing.
   */
  readonly shown?: 'name' | 'all' | 'page';
};

/** Without control characters, and neither `.` nor `..`, which a URL parser resolves, encoded or not (WHATWG URL, 4.1). */
const SEGMENT = /^(?!\.{1,2}$)\P{Cc}{1,256}$/u;

/** Whether a text can be sent as one segment of a path: 1 to 256 characters, see `path`. */
export function isPathSegment(text: string): boolean {
  return SEGMENT.test(text) && text.isWellFormed();
}

/**
 * A template tag for paths. The text stays as written; the value of each placeholder becomes one percent-encoded segment.
 * @throws GatewayError BAD_USER_INPUT for a value that is empty, `.`, `..`, longer than 256 characters,
 * or contains a control character or a lone surrogate.
 * @example path`/api/v1/secrets/${{ client_id: clientId }}`
 */
export function path(
  text: TemplateStringsArray,
  ...placeholders: readonly Readonly<Record<string, string>>[]
): Path {
  let [template = ''] = text;
  let value = template;
  for (const [index, placeholder] of placeholders.entries()) {
    const [[name, segment] = ['', '']] = Object.entries(placeholder);
    template += `{${name}}${text[index + 1]}`;
    value += `${encodeSegment(segment)}${text[index + 1]}`;
  }
  return { template, value: value as EncodedPath }; // encodeSegment encodes every value
}

/**
 * Replaces the query by these parameters, in the given order; repeated names stay repeated. Without parameters, the path
 * stays as it is.
 * @throws GatewayError BAD_USER_INPUT for a name or a value with a lone surrogate.
 */
export function withQuery(to: Path, query: readonly QueryParameter[]): Path {
  if (query.length === 0) return to;
  const [bare] = to.value.split('?', 1);
  const value = `${bare}?${query.map(encodePair).join('&')}` as EncodedPath; // every pair is encoded
  return { ...to, value, query };
}

/**
 * Replaces the query parameter that requests a page, or appends it.
 * @throws GatewayError BAD_USER_INPUT for a name or a value with a lone surrogate.
 */
export function withPage(to: Path, { name, value }: QueryParameter): Path {
  const others = (to.query ?? []).filter((parameter) => parameter.name !== name);
  return withQuery(to, [...others, { name, value, shown: 'page' }]);
}

/**
 * Resolves a link from the response to a path: the same path with the link's query. Null if the link leads to another
 * path or origin, or has no query. The start of the link's path may be missing or longer than ours, because a service
 * behind a reverse proxy does not know its public address.
 */
export function followLink(link: string, from: Path, base: URL): Path | null {
  const [bare = ''] = from.value.split('?');
  const own = new URL(`${base.pathname.replace(/\/+$/, '')}${bare}`, base);
  const url = URL.parse(link, own);
  if (url === null || url.origin !== own.origin || url.search === '') return null;
  const isSamePath = own.pathname.endsWith(url.pathname) || url.pathname.endsWith(bare);
  const value = `${bare}${url.search}` as EncodedPath; // the URL parser has encoded the query
  const query = [{ name: '', value: '', shown: 'page' as const }];
  return isSamePath ? { ...from, value, query } : null;
}

/**
 * Shows a path: a value of the client is the variable $PARAMETER, $PARAMETER_2 …, and so is a query parameter of the client,
 * as `name=value`. What requests a page is $CURSOR: a value if `pageParameter` of the contract is its name, else a
 * `name=value`, or the query of a link. Variables are percent-encoded; nothing else contains a `$`.
 */
export function showPath(
  { template, query = [] }: Omit<Path, 'value'>,
  pageParameter?: string | null,
): string {
  let count = 0;
  const nextVariable = () => {
    count += 1;
    return count === 1 ? '$PARAMETER' : `$PARAMETER_${count}`;
  };
  const bare = template.replace(/\{\w+\}/g, nextVariable);
  const pairs = query.map(({ name, value, shown }) => {
    if (shown === 'all') return encodePair({ name, value });
    const variable = shown === 'page' ? '$CURSOR' : nextVariable();
    const isNamed = shown === 'name' || (shown === 'page' && name === pageParameter);
    return isNamed ? `${encodeText(name)}=${variable}` : variable;
  });
  return pairs.length === 0 ? bare : `${bare}?${pairs.join('&')}`;
}

/**
 * A curl command for a GET request, safe to paste: all but the variables of `showPath`, and $HEADER, $HEADER_2 … for the
 * values of these headers, is in single quotes.
 */
export function toCurl(
  baseUrl: string,
  shownPath: string,
  headerNames: readonly string[] = [],
): string {
  const quote = (text: string) => text.replaceAll("'", String.raw`'\''`);
  const path = quote(shownPath).replace(/\$\w+/g, `'"$&"'`);
  const url = `'${quote(baseUrl)}${path}'`.replace(/"''$/, '"');
  const headers = headerNames.map((name, index) => {
    const variable = index === 0 ? '$HEADER' : `$HEADER_${index + 1}`;
    return `-H '${quote(name)}: '"${variable}" `;
  });
  // Without -g, curl takes brackets for a range of URLs.
  return `curl -g -H "Authorization: Bearer $TOKEN" -H 'Accept: application/json' ${headers.join('')}${url}`;
}

function encodeSegment(value: string): string {
  if (!isPathSegment(value)) {
    throw new GatewayError('BAD_USER_INPUT', {
      message:
        'This client id cannot be sent in a path: use 1 to 256 characters without control characters, and neither `.` nor `..`.',
    });
  }
  return encodeURIComponent(value);
}

function encodePair({ name, value }: QueryParameter): string {
  return `${encodeText(name)}=${encodeText(value)}`;
}

function encodeText(value: string): string {
  if (!value.isWellFormed()) {
    throw new GatewayError('BAD_USER_INPUT', {
      message: 'A query parameter contains a lone surrogate: send well-formed Unicode.',
    });
  }
  return encodeURIComponent(value);
}
