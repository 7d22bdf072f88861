import type { LoginRateLimitObserver } from '../server/login-rate-limit.ts';
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
