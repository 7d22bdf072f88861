import { GatewayError } from '../errors.ts';

declare const encoded: unique symbol;

/** A path of the service, with its query, in which every value is encoded. Only {@link path} and {@link withQuery} make one. */
export type Path = string & { readonly [encoded]: true };

/** One query parameter of the service. */
export type QueryParameter = { readonly name: string; readonly value: string };

const MAX_SEGMENT_LENGTH = 256;

// A URL parser reads `.` and `..` as steps, encoded or not (WHATWG URL, section 4.1).
const STEP = /^\.{1,2}$/;

const CONTROL = /\p{Cc}/u;

/**
 * A template tag: the text stands as written, each value becomes one percent-encoded segment.
 * @throws GatewayError BAD_USER_INPUT for a value that is empty, `.`, `..`, longer than 256 characters,
 * or holds a control character or a lone surrogate.
 */
export function path(text: TemplateStringsArray, ...values: readonly string[]): Path {
  const segments = values.map((value, index) => encodeSegment(value) + text[index + 1]);
  return [text[0], ...segments].join('') as Path; // the brand is what encodeSegment does
}

/**
 * Appends query parameters in the order given; repeated names stay repeated.
 * @throws GatewayError BAD_USER_INPUT for a name or a value with a lone surrogate.
 */
export function withQuery(to: Path, parameters: readonly QueryParameter[]): Path {
  if (parameters.length === 0) return to;
  const pairs = parameters.map(({ name, value }) => `${encodeText(name)}=${encodeText(value)}`);
  return `${to}?${pairs.join('&')}` as Path; // both sides of every pair are encoded
}

/** Replaces a query parameter, or appends it. */
export function withParameter(to: Path, { name, value }: QueryParameter): Path {
  const [bare = '', query = ''] = to.split('?');
  const isOther = (pair: string) => pair !== '' && pair.split('=')[0] !== encodeText(name);
  const others = query.split('&').filter(isOther);
  return `${bare}?${[...others, `${encodeText(name)}=${encodeText(value)}`].join('&')}` as Path; // every pair is encoded
}

/**
 * The path to which a link leads that was found in the answer of another: the same path with the link's query.
 * Null when it leads elsewhere, or has no query. What stands in front of the path may be missing or longer, since
 * services behind a proxy do not know their own address.
 */
export function followLink(link: string, from: Path, base: URL): Path | null {
  const [bare = ''] = from.split('?');
  const own = new URL(`${base.pathname.replace(/\/+$/, '')}${bare}`, base);
  const url = URL.parse(link, own);
  if (url === null || url.origin !== own.origin || url.search === '') return null;
  const isSamePath = own.pathname.endsWith(url.pathname) || url.pathname.endsWith(bare);
  return isSamePath ? (`${bare}${url.search}` as Path) : null; // a URL's query is encoded
}

function encodeSegment(value: string): string {
  if (
    value === '' ||
    (value.length > MAX_SEGMENT_LENGTH && [...value].length > MAX_SEGMENT_LENGTH) ||
    STEP.test(value) ||
    CONTROL.test(value) ||
    !value.isWellFormed()
  ) {
    throw new GatewayError('BAD_USER_INPUT', {
      message:
        'This client id cannot stand in a path: it must have 1 to 256 characters, no control characters, and be neither `.` nor `..`.',
    });
  }
  return encodeURIComponent(value);
}

function encodeText(value: string): string {
  if (!value.isWellFormed()) {
    throw new GatewayError('BAD_USER_INPUT', {
      message: 'A query parameter holds half a character (a lone surrogate).',
    });
  }
  return encodeURIComponent(value);
}
