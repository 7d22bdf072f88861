import type { UpstreamObserver } from '../upstream/types.ts';

/** What is told of a request that was answered. */
export type CompletedRequest = {
  readonly requestId: string;
  /** query or mutation; left out when no operation was reached. */
  readonly operation?: string;
  /** Names of root fields, by comma. */
  readonly fields?: string;
  /** Codes of errors, by comma. */
  readonly codes?: string;
  /** Their reasons, by comma. */
  readonly reason?: string;
  /** What Node says of calls that were lost, by comma. */
  readonly cause?: string;
  readonly status: number;
  readonly durationMs?: number;
  /** True when the caller left before the answer. */
  readonly aborted?: true;
};

/** Is told what happens in a gateway, never a value of a caller or a text of the service. It must not throw. */
export type GatewayObserver = {
  onRequest(request: CompletedRequest): void;
  /** One more is under way, or one less. */
  onInFlight(change: 1 | -1): void;
  /** Entries of the contract led to nothing in an answer. */
  onDrift(entries: readonly string[]): void;
  readonly rest: Partial<UpstreamObserver>;
  readonly login: LoginRateLimitObserver;
};

/** Is told what the guard does; of nobody's id or address. */
export type LoginRateLimitObserver = {
  onRefused?(by: 'client' | 'address'): void;
  /** Called on each change only: true when Redis is lost or slow and the count is in memory, false when it is shared again. */
  onFallback?(isFallback: boolean): void;
};

/** Where a gateway writes what happens: `console`, or a logger such as pino. None of it is ever a secret. */
export type GatewayLog = Readonly<
  Record<'info' | 'warn' | 'error', (record: object, message: string) => void>
>;

/** What is known of a request when it is answered: names out of the schema and the table of codes, numbers. */
export type RequestOutcome = {
  /** query or mutation; left out when no operation was reached. */
  readonly operation?: string;
  /** Names of root fields, by comma. */
  readonly fields?: string;
  readonly status: number;
  /** True when the same had been asked before, so that it only had to be carried out. */
  readonly prepared?: true;
  /** True when the caller left before the answer. */
  readonly aborted?: true;
};
