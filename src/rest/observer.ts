import type { Path } from './path.ts';

/** A route of the service, without what stands in it. */
export type Route = 'login' | 'audit' | 'secrets';

/** The class of the status that came; `left` when the caller did; `none` when no answer came that could be taken, in time and whole. */
export type CallOutcome = '2xx' | '3xx' | '4xx' | '5xx' | 'left' | 'none';

/** `open`: calls are refused; `half-open`: a read is under way to see whether the service is back. */
export type BreakerState = 'closed' | 'open' | 'half-open';

/** Is told what happens on the way to the service, never a value that went there or came back. It must not throw. */
export type RestObserver = {
  /** A try has ended: one for each request that was made, so two for a call that was retried. */
  onCall(route: Route, outcome: CallOutcome, seconds: number): void;
  /** A second try begins. */
  onRetry(route: Route): void;
  /** The circuit breaker changed; it begins closed. */
  onBreaker(state: BreakerState): void;
  /** A call was refused without asking the service. */
  onRejected(route: Route): void;
};

/** Tells the route from the shape of a path; null for a path that has none of these shapes, which is not observed. */
export function routeOf(path: Path): Route | null {
  return SHAPES.find(([shape]) => shape.test(path))?.[1] ?? null;
}

const SHAPES: readonly (readonly [RegExp, Route])[] = [
  [/^\/api\/v1\/auth\/login$/, 'login'],
  [/^\/api\/v1\/audit(?:\?|$)/, 'audit'],
  [/^\/api\/v1\/secrets\/[^/?]+$/, 'secrets'],
];
