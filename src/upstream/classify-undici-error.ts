import errors from 'undici/lib/core/errors.js';

/** Whether we passed invalid arguments to undici: our bug, not a failure of the service. */
export function isMisuse(error: Error): boolean {
  return error instanceof errors.InvalidArgumentError;
}

/** Whether the headers, or those after the body, are larger than Node accepts: 16 KB by default. */
export function isHeadersOverflow(error: Error): boolean {
  return error instanceof errors.HeadersOverflowError;
}

/** Whether the response is not valid HTTP. A length mismatch in the head means two lengths; later, a truncated body. */
export function isInvalidHttp(error: Error, isHead: boolean): boolean {
  return (
    error instanceof errors.HTTPParserError ||
    (isHead && error instanceof errors.ResponseContentLengthMismatchError)
  );
}

/**
 * Whether the service rejected our client certificate. Under TLS 1.3 it may do so after the request was sent (RFC 8446,
 * section 6.2). It discards what it received, so the request is safe to retry. Node derives these codes from OpenSSL's
 * names of the alerts.
 */
export function isCertificateRejection(error: Error): boolean {
  return /^ERR_SSL_.*_ALERT_(?:.*CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED)/.test(Object(error).code);
}

/** Node's error code, such as ECONNREFUSED: unlike the message, it contains no host name. */
export function codeOf(error: Error): string | undefined {
  const code = String(Object(error).code);
  return /^[A-Z\d_]+$/.test(code) ? code : undefined;
}
