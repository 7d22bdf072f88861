import type { UpstreamObserver } from '../upstream/types.ts';

/** The outcome of a request: names from the schema and numbers. */
export type RequestOutcome = {
  /** `query` or `mutation`; omitted if no operation was executed. */
  readonly operation?: string;
  /** Names of the root fields, comma-separated. */
  readonly fields?: string;
  /** The HTTP method, `_OTHER` if unknown; only if no operation was executed. */
  readonly method?: string;
  /** The route from a fixed list, never the path, which may contain a secret; only if no operation was executed. */
  readonly route?: string;
  /** The HTTP status of the gateway's response. */
  readonly status: number;
  /** True if the operation was in the cache of prepared operations. */
  readonly prepared?: true;
  /** True if the client disconnected before the response. */
  readonly aborted?: true;
  /** Payloads of a subscription. */
  readonly payloads?: number;
  /** Why a subscription ended: its client disconnected, another caller needed its slot, it was an hour old, the gateway was shut down, or it failed. */
  readonly ended?: 'client' | 'evicted' | 'expired' | 'shutdown' | 'error';
};

/** The log record of a completed request. */
export type CompletedRequest = RequestOutcome & {
  readonly requestId: string;
  /** Codes of the errors, comma-separated. */
  readonly codes?: string;
  /** `extensions.reason` of the errors, comma-separated. */
  readonly reason?: string;
  /** Node's codes of failed calls to the service, such as ECONNREFUSED, comma-separated. */
  readonly cause?: string;
  readonly durationMs?: number;
};

/** Receives the events of a gateway, without any value of a client or text of the service. It must not throw. */
export type GatewayObserver = {
  onRequest(request: CompletedRequest): void;
  /** A request started (1) or completed (-1). */
  onInFlight(change: 1 | -1): void;
  /** A subscription started (1) or ended (-1). */
  onSubscription(change: 1 | -1): void;
  /** A payload of a subscription was sent. */
  onPayload(): void;
  /** Entries of the contract that read nothing of a response. */
  onDrift(entries: readonly string[]): void;
  readonly upstream: Partial<UpstreamObserver>;
  readonly login: LoginRateLimitObserver;
};

/** What a limit on logins counts by: the network of the client's address, the client ID, or the pair of both. */
export type LoginLimit = 'address' | 'pair' | 'client';

/** Receives the events of the login rate limit, without client ids and addresses. */
export type LoginRateLimitObserver = {
  /** A login was rejected because it exceeded a limit. */
  onRefused?(by: LoginLimit): void;
  /** Called on changes only: true when Redis fails and logins are counted in memory, false when they are shared again. */
  onFallback?(isFallback: boolean): void;
};

/** A structured log: `console`, or a logger such as pino. Records never contain a secret. */
export type GatewayLog = Readonly<
  Record<'info' | 'warn' | 'error', (record: object, message: string) => void>
>;
