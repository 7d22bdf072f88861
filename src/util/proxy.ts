import { isLoopback } from './loopback.ts';

/** The proxies that there are, and for what they are not used. */
export type ProxyOptions = {
  /** The proxy for URLs with https: an http or https URL, which may have a user and a password. */
  readonly httpsProxy?: string | undefined;
  /** The proxy for URLs with http. */
  readonly httpProxy?: string | undefined;
  /** Hosts that are connected to without a proxy, separated by commas or spaces. */
  readonly noProxy?: string | undefined;
};

/**
 * Which of the options are used to connect to a URL: the last one is that of its proxy, unless `noProxy` excludes it. None
 * for loopback, and without a proxy for its scheme.
 */
export function usedProxyOptions(url: URL, options: ProxyOptions): readonly (keyof ProxyOptions)[] {
  const name = url.protocol === 'https:' ? 'httpsProxy' : 'httpProxy';
  if (!options[name] || isLoopback(url.hostname)) return [];
  return isExcluded(url, options.noProxy ?? '') ? ['noProxy'] : ['noProxy', name];
}

/** The URL of the proxy through which a URL is connected to; undefined for none. */
export function proxyFor(url: URL, options: ProxyOptions): string | undefined {
  const name = usedProxyOptions(url, options).at(-1);
  const proxy = name === undefined || name === 'noProxy' ? undefined : options[name];
  return proxy && toProxyUrl(proxy);
}

/** Without a scheme a proxy is one over http, as curl, Go and Python take it. */
export function toProxyUrl(proxy: string): string {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(proxy) ? proxy : `http://${proxy}`;
}

/** As undici's EnvHttpProxyAgent reads the list: a name includes its subdomains, and `*.` before it means only those. */
function isExcluded({ protocol, hostname, port }: URL, list: string): boolean {
  const host = toName(hostname);
  const own = Number(port || (protocol === 'https:' ? 443 : 80));
  return list.split(/[,\s]+/).some((entry) => {
    // More than one colon is that of an IPv6 address, which has brackets before a port.
    const [, name = entry, only] = /^(\[.+\]|[^:]+):(\d+)$/.exec(entry) ?? [];
    if (Number(only ?? 0) !== 0 && Number(only) !== own) return false;
    const wanted = toName(name);
    if (wanted === '') return false;
    const isOfSubdomains = name.startsWith('*.');
    return wanted === '*' || (wanted === host && !isOfSubdomains) || host.endsWith(`.${wanted}`);
  });
}

/** Without the brackets of an IPv6 address, what means subdomains, and the dot at the end of a full name; in lower case. */
function toName(host: string): string {
  return host
    .replace(/^\[(.+)\]$/, '$1')
    .replace(/^\*?\./, '')
    .replace(/(.)\.$/, '$1')
    .toLowerCase();
}
