import type { ClientHeaders, RequestClient } from '../util/request-client.ts';
import { isLoopback, readClientIp, toPrefix } from './client-ip.ts';

/** What a gateway trusts, and what it forwards. */
export type ClientOptions = {
  /** Number of reverse proxies that append to X-Forwarded-For. */
  readonly trustedProxies: number;
  /** Whether the service learns the client's address and user agent. */
  readonly forwardClient: boolean;
};

/** RFC 9110, section 7.6.3. */
const VIA = { via: '1.1 keytrail' } as const;

/** Visible ASCII and spaces: a header with other characters is not forwarded. */
const USER_AGENT = /^[\x21-\x7e][\x20-\x7e]{0,255}$/;

/**
 * Creates a function that reads who sent a request, from the address of its socket and its headers. Nothing is computed
 * before it is needed. A loopback address is not forwarded, because some services trust it.
 */
export function createClientReader({ trustedProxies, forwardClient }: ClientOptions) {
  return (peer: string | undefined, headers: Pick<Headers, 'get'>): RequestClient => {
    const readIp = () =>
      readClientIp({ peer, forwardedFor: headers.get('x-forwarded-for'), trustedProxies });
    return {
      address: () => {
        const ip = readIp();
        return ip === null ? null : toPrefix(ip);
      },
      headers: (): ClientHeaders => {
        if (!forwardClient) return VIA;
        const ip = readIp();
        const agent = headers.get('user-agent') ?? '';
        return {
          ...VIA,
          ...(USER_AGENT.test(agent) && { 'user-agent': agent }),
          ...(ip !== null && !isLoopback(ip) && { 'x-forwarded-for': ip }),
        };
      },
    };
  };
}
