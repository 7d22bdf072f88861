/** Whether it can stand in front of the service's paths: http or https, without user, password, query or fragment. */
export function isBaseAddress({ protocol, username, password, href }: URL): boolean {
  return /^https?:$/.test(protocol) && username === '' && password === '' && !/[?#]/.test(href);
}

/** Whether it names a Redis and nothing else: a query could change how the client of Redis works. */
export function isRedisAddress(text: string): boolean {
  const url = URL.parse(text);
  return (
    url !== null &&
    /^rediss?:$/.test(url.protocol) &&
    url.hostname !== '' &&
    /^(?:\/\d*)?$/.test(url.pathname) &&
    !/[?#]/.test(url.href)
  );
}

/** Whether it is an origin as a browser sends it, such as `https://app.example.com` (RFC 6454, section 6.2). */
export function isOrigin(text: string): boolean {
  return URL.parse(text)?.origin === text;
}

/** Whether whoever stands between here and there could read along: plain http to another host than loopback. */
export function isPlainAndFar(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === 'http:' && !/^(?:localhost|127\.[\d.]+|\[::1\])$/.test(url.hostname);
}
