import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { CompletedRequest, GatewayObserver } from './observer.ts';

/** Counts what happens in a gateway and in its process. */
export type Metrics = {
  readonly observer: GatewayObserver;
  /** In the text format of Prometheus. */
  text(): Promise<string>;
  readonly contentType: string;
};

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Starts to count. Every label has few values: names out of the schema, the table of codes, the contract and the routes. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const counter = <Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
  ) => new Counter({ name: `keytrail_${name}`, help, labelNames, registers });
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Gauge({ name: `keytrail_${name}`, help, labelNames, registers });
  const histogram = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Histogram({ name: `keytrail_${name}`, help, labelNames, buckets: SECONDS, registers });

  const requests = counter('requests_total', 'Requests answered.', ['operation', 'code']);
  const requestSeconds = histogram('request_duration_seconds', 'Of requests that were executed.', [
    'operation',
  ]);
  const inFlight = gauge('requests_in_flight', 'Requests under way.', []);
  const calls = counter('upstream_calls_total', 'Requests made to the service.', [
    'route',
    'outcome',
  ]);
  const callSeconds = histogram('upstream_call_duration_seconds', 'Of requests to the service.', [
    'route',
  ]);
  const retries = counter('upstream_retries_total', 'Second tries.', ['route']);
  const rejected = counter('upstream_rejected_total', 'Calls not made, to spare the service.', [
    'route',
  ]);
  const breaker = gauge('breaker_state', 'Processes whose circuit breaker is in that state.', [
    'state',
  ]);
  const refused = counter('logins_refused_total', 'Logins beyond the limit.', ['by']);
  const fallback = gauge('login_limit_fallback', 'Processes for which Redis is lost.', []);
  const drift = counter('contract_drift_total', 'Answers in which an entry led to nothing.', [
    'entry',
  ]);
  const setBreaker = (state: string) => {
    for (const each of ['closed', 'open', 'half-open']) {
      breaker.set({ state: each }, each === state ? 1 : 0);
    }
  };
  setBreaker('closed');
  // At 0 from the start: of a counter that appears at 1, Prometheus sees no rise.
  requests.inc({ operation: 'none', code: 'OVERLOADED' }, 0);
  for (const by of ['client', 'address']) refused.inc({ by }, 0);
  for (const route of ['login', 'audit', 'secrets']) {
    for (const rare of [retries, rejected]) rare.inc({ route }, 0);
  }

  return {
    observer: {
      onRequest: (request) => {
        const operation = operationOf(request);
        const code = request.aborted ? 'ABORTED' : (request.codes?.split(',')[0] ?? 'OK');
        requests.inc({ operation, code });
        if (request.durationMs !== undefined && request.operation !== undefined) {
          requestSeconds.observe({ operation }, request.durationMs / 1000);
        }
      },
      onInFlight: (change) => inFlight.inc(change),
      onDrift: (entries) => {
        for (const entry of entries) drift.inc({ entry });
      },
      rest: {
        onCall: (route, outcome, seconds) => {
          calls.inc({ route, outcome });
          callSeconds.observe({ route }, seconds);
        },
        onRetry: (route) => retries.inc({ route }),
        onBreaker: setBreaker,
        onRejected: (route) => rejected.inc({ route }),
      },
      login: {
        onRefused: (by) => refused.inc({ by }),
        onFallback: (isFallback) => fallback.set(isFallback ? 1 : 0),
      },
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

/** The root field, or `several`: combinations of ten fields would be many. */
function operationOf({ operation, fields }: CompletedRequest): string {
  if (operation === undefined) return 'none';
  return fields?.includes(',') ? 'several' : (fields ?? 'none');
}
