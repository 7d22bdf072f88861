import type { Dispatcher } from 'undici';
import connectThrough from 'undici/lib/api/api-connect.js';
import buildConnector from 'undici/lib/core/connect.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import ProxyAgent from 'undici/lib/dispatcher/proxy-agent.js';
import { type ProxyOptions, proxyFor } from '../../util/proxy.ts';

/** How to connect to the service. */
export type ConnectionOptions = ProxyOptions & {
  /** Base URL of the service; its path is prepended to every path. */
  readonly url: URL;
  /** The bound of each step of connecting, in milliseconds. */
  readonly timeoutMs: number;
  /** PEM texts: the CA certificates to trust instead of Node's, and the client certificate with its key. Not for a proxy. */
  readonly tls?: Readonly<Partial<Record<'ca' | 'cert' | 'key', string | undefined>>> | undefined;
};

/** A number of connections to the service. */
export type ConnectionPool = Pick<Dispatcher, 'dispatch'> & {
  close(): Promise<void>;
  destroy(): Promise<void>;
};

/** Creates a function that creates pools of HTTP/1.1 connections: through the proxy for the service, if there is one. */
export function createPoolFactory(options: ConnectionOptions): (size: number) => ConnectionPool {
  const { url, timeoutMs, tls } = options;
  const toProxy = stepsOf(timeoutMs);
  const toService = { ...toProxy, ...tls };
  const connect = buildConnector(toService);
  const proxy = proxyFor(url, options);
  if (proxy === undefined) return (size) => createPool(url.origin, size, connect);
  return (size) => {
    const agent = createProxyAgent(proxy, timeoutMs, {
      ...{ connect, requestTls: toService },
      factory: (origin, through: WithConnector) => createPool(origin, size, through.connect),
    });
    return {
      dispatch: (request, handler) => agent.dispatch({ ...request, origin: url.origin }, handler),
      close: () => agent.close(),
      destroy: () => agent.destroy(),
    };
  };
}

/** Creates what sends requests through a proxy: in a tunnel to a URL with https. */
export function createProxyAgent(
  uri: string,
  timeoutMs: number,
  options: Omit<ProxyAgent.Options, 'uri'> = {},
): ProxyAgent {
  const steps = stepsOf(timeoutMs);
  return new ProxyAgent({
    ...{ uri, proxyTls: steps, requestTls: steps, ...options },
    // For CONNECT requests. Only undici's entry point gives every dispatcher the method `connect`.
    clientFactory: (origin, through) =>
      Object.assign(new Pool(origin, { ...through, headersTimeout: timeoutMs }), {
        connect: connectThrough,
      }),
  });
}

/** How to open a connection, with a bound of each step. */
function stepsOf(timeoutMs: number) {
  return {
    allowH2: false,
    timeout: timeoutMs,
    // Node aborts an attempt after 250 ms: too early for an address that is far away (nodejs/node#54359).
    autoSelectFamilyAttemptTimeout: Math.ceil(timeoutMs / 4),
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
