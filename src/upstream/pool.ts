import type { Dispatcher } from 'undici';
import connectThrough from 'undici/lib/api/api-connect.js';
import buildConnector from 'undici/lib/core/connect.js';
import EnvHttpProxyAgent from 'undici/lib/dispatcher/env-http-proxy-agent.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import { isLoopback } from '../util/loopback.ts';

/** How to connect to the service. */
export type ConnectionOptions = {
  /** Base URL of the service; its path is prepended to every path. */
  readonly url: URL;
  /** The bound of each step of connecting, in milliseconds. */
  readonly timeoutMs: number;
  /** PEM texts: the CA certificates to trust instead of Node's, and the client certificate with its key. Not for a proxy. */
  readonly tls?: Readonly<Partial<Record<'ca' | 'cert' | 'key', string | undefined>>> | undefined;
  /** The proxy for a service with https: an http or https URL, which may have a user and a password. */
  readonly httpsProxy?: string | undefined;
  /** The proxy for a service with http. */
  readonly httpProxy?: string | undefined;
  /** Hosts that are connected to without a proxy, as undici's `EnvHttpProxyAgent` reads them. */
  readonly noProxy?: string | undefined;
};

/** A number of connections to the service. */
export type ConnectionPool = Pick<Dispatcher, 'dispatch'> & {
  close(): Promise<void>;
  destroy(): Promise<void>;
};

/** Creates a function that creates pools of HTTP/1.1 connections: through a proxy if there is one, but never to loopback. */
export function createPoolFactory(options: ConnectionOptions): (size: number) => ConnectionPool {
  const { url, timeoutMs, tls, httpsProxy, httpProxy, noProxy = '' } = options;
  const toProxy = {
    allowH2: false,
    timeout: timeoutMs,
    // Node aborts an attempt after 250 ms: too early for an address that is far away (nodejs/node#54359).
    autoSelectFamilyAttemptTimeout: Math.ceil(timeoutMs / 4),
  };
  const toService = { ...toProxy, ...tls };
  const connect = buildConnector(toService);
  const proxy = url.protocol === 'https:' ? httpsProxy : httpProxy;
  if (proxy === undefined || isLoopback(url.hostname))
    return (size) => createPool(url.origin, size, connect);
  return (size) => {
    const agent = new EnvHttpProxyAgent({
      ...{ httpsProxy: proxy, httpProxy: proxy, noProxy },
      ...{ connect, proxyTls: toProxy, requestTls: toService },
      factory: (origin, through: WithConnector) => createPool(origin, size, through.connect),
      // For CONNECT requests. Only undici's entry point gives every dispatcher the method `connect`.
      clientFactory: (origin, through) =>
        Object.assign(new Pool(origin, { ...through, headersTimeout: timeoutMs }), {
          connect: connectThrough,
        }),
    });
    return {
      dispatch: (request, handler) => agent.dispatch({ ...request, origin: url.origin }, handler),
      close: () => agent.close(),
      destroy: () => agent.destroy(),
    };
  };
}

/** What undici passes to a factory: a connector that may open a tunnel. */
type WithConnector = { readonly connect: buildConnector.connector };

function createPool(origin: string | URL, size: number, connect: buildConnector.connector): Pool {
  return new Pool(origin, {
    connections: size,
    pipelining: 1,
    allowH2: false,
    headersTimeout: 0, // sendRequest has a deadline for head and body
    bodyTimeout: 0,
    connect: (target, done) =>
      connect(target, (...result) => {
        const [, socket] = result;
        // After a TLS alert Node also emits `end`, and undici would report only that.
        socket?.on('error', () => socket.destroy());
        done(...result);
      }),
  });
}
