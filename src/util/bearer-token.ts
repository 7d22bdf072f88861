/**
 * What an `Authorization` header may carry as a token: visible ASCII without commas and quotes, which end a value in lists
 * of headers. RFC 6750, section 2.1, allows less, but services issue tokens such as `12|f4Sw`.
 */
const TOKEN = /[!#-&(-+\--~]+/.source;

const HEADER = new RegExp(`^bearer +${TOKEN}$`, 'i');

const MAX_LENGTH = 8192;

/** Whether the value of an `Authorization` header is a bearer token (the scheme in any case), of at most 8 KiB. */
export function isBearerHeader(header: string): boolean {
  return header.length <= MAX_LENGTH && HEADER.test(header);
}
