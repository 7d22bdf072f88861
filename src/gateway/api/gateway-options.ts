import type { Authorize } from '../http/gateway-type.ts';
import type { ConfiguredContract } from '../mapping/contract.ts';
import type { GatewayLog } from '../observability/observer.ts';
import type { GatewaySettings, UpstreamSettings } from './gateway-options.generated.ts';

/** Path of the GraphQL endpoint, unless a program chooses another. */
export const GRAPHQL_PATH = '/graphql';

/** How to reach the REST service. */
export type UpstreamOptions = UpstreamSettings & {
  /** Base URL, http or https; a path is kept as a prefix. */
  readonly url: string | URL;
  /** PEM texts: authorities to trust instead of Node's built-in list, and a client certificate with its private key. */
  readonly tls?: Readonly<Partial<Record<'ca' | 'cert' | 'key', string | undefined>>> | undefined;
  /** Headers of every call to the service, such as the key of an API manager. None that Keytrail sends itself. @default {} */
  readonly headers?: Readonly<Record<string, string>> | undefined;
};

/** The time of calls to the service. Default: real time. */
export type CallTimers = {
  /** Monotonic time in milliseconds, for deadlines and the circuit breaker. */
  readonly clock?: () => number;
  /** Waits for milliseconds before a retry, or until the signal is aborted. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
  /** Waits for milliseconds between two polls of a subscription, or until the signal is aborted. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<unknown>;
};

/** The options of `createGateway`. What is off in production by environment variables is off by default here. */
export type GatewayOptions = GatewaySettings & {
  readonly upstream: UpstreamOptions;
  /**
   * Path of the GraphQL endpoint, as clients request it: with the paths under which a framework mounts it.
   * @default '/graphql'
   */
  readonly path?: string | undefined;
  /** Where each field is in the service's responses. What it omits is inferred from each response. @default {} */
  readonly contract?: ConfiguredContract | undefined;
  /**
   * Receives a record of every request: `warn` if the service or the gateway failed, else `info`. Also of an outage of
   * the service or of Redis, of contract entries that match nothing, and of bugs (`error`). Default: no log.
   */
  readonly log?: GatewayLog | undefined;
  /**
   * Gives each request to the GraphQL endpoint its Authorization header, for a program that logs its users in itself. It
   * replaces that of the client. If it throws, the client gets INTERNAL_SERVER_ERROR. Default: the header of the client.
   * @example (request) => sessions.tokenOf(request)
   */
  readonly authorization?: Authorize | undefined;
  /** The current time. Default: the system clock. */
  readonly now?: (() => Date) | undefined;
};
