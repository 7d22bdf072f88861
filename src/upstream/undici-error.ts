import errors from 'undici/lib/core/errors.js';

/** We have called undici wrongly: a bug of ours, nothing of the service's. */
export function isMisuse(error: Error): boolean {
  return error instanceof errors.InvalidArgumentError;
}

/** What came is not HTTP as we take it. Of a head with two lengths, or a length and chunks, undici says that they differ. */
export function isUnreadable(error: Error, isHead: boolean): boolean {
  return (
    error instanceof errors.HTTPParserError ||
    error instanceof errors.HeadersOverflowError ||
    (isHead && error instanceof errors.ResponseContentLengthMismatchError)
  );
}

/**
 * By TLS 1.3 our certificate is refused when the request is on its way already (RFC 8446, section 6.2): behind a
 * handshake that failed nothing is read of it. Node's codes for these alerts are made of OpenSSL's names.
 */
export function isRefusal(error: Error): boolean {
  return /^ERR_SSL_.*_ALERT_(?:.*CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED)/.test(Object(error).code);
}

/** Node's code, ECONNREFUSED and its like, which says what its message does without naming a host. */
export function codeOf(error: Error): string | undefined {
  const code = String(Object(error).code);
  return /^[A-Z\d_]+$/.test(code) ? code : undefined;
}
