import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { ROUTES } from '../upstream/types.ts';
import type { CompletedRequest, GatewayObserver } from './observer.ts';

/** The metrics of a gateway and its process. */
export type Metrics = {
  /** Counts the events that it receives. */
  readonly observer: GatewayObserver;
  /** All metrics in the text format of Prometheus. */
  text(): Promise<string>;
  readonly contentType: string;
};

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Creates the metrics. Every label has few values: names from the schema, error codes, contract entries and routes. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const metric = <Label extends string>(name: string, help: string, ...labelNames: Label[]) => ({
    name: `keytrail_${name}`,
    help,
    labelNames,
    registers: [registry],
    buckets: SECONDS, // of histograms
  });
  const requests = new Counter(
    metric('requests_total', 'Completed requests.', 'operation', 'code'),
  );
  const requestSeconds = new Histogram(
    metric('request_duration_seconds', 'Duration of executed requests.', 'operation'),
  );
  const inFlight = new Gauge(metric('requests_in_flight', 'Requests in progress.'));
  const subscriptions = new Gauge(metric('subscriptions', 'Subscriptions in progress.'));
  const payloads = new Counter(metric('subscription_payloads_total', 'Payloads sent.'));
  const attempts = new Counter(
    metric('upstream_calls_total', 'Requests to the service, with retries.', 'route', 'outcome'),
  );
  const attemptSeconds = new Histogram(
    metric('upstream_call_duration_seconds', 'Duration of requests to the service.', 'route'),
  );
  const retries = new Counter(metric('upstream_retries_total', 'Retried requests.', 'route'));
  const rejected = new Counter(
    metric('upstream_rejected_total', 'Calls rejected before they were sent.', 'route'),
  );
  const breaker = new Gauge(
    metric(
      'breaker_state',
      'The circuit breaker of reads: 1 for its current state, else 0.',
      'state',
    ),
  );
  const refused = new Counter(metric('logins_refused_total', 'Rate-limited logins.', 'by'));
  const fallback = new Gauge(metric('login_limit_fallback', '1 if the login count is not shared.'));
  const drift = new Counter(
    metric('contract_drift_total', 'Responses in which an entry read nothing.', 'entry'),
  );
  const setBreakerState = (current: string) => {
    for (const state of ['closed', 'open', 'half-open']) {
      breaker.set({ state }, state === current ? 1 : 0);
    }
  };
  setBreakerState('closed');
  // Rare counters start at 0: Prometheus sees no increase in one that first appears with 1.
  requests.inc({ operation: 'none', code: 'OVERLOADED' }, 0);
  for (const by of ['client', 'address', 'pair']) refused.inc({ by }, 0);
  for (const route of ROUTES) {
    for (const rare of [retries, rejected]) rare.inc({ route }, 0);
  }

  return {
    observer: {
      onRequest: (request) => {
        const operation = operationOf(request);
        const code = request.aborted ? 'ABORTED' : (request.codes?.split(',')[0] ?? 'OK');
        requests.inc({ operation, code });
        // The duration of a subscription is that of the client's interest.
        const isExecuted = request.operation !== undefined && request.operation !== 'subscription';
        if (request.durationMs !== undefined && isExecuted) {
          requestSeconds.observe({ operation }, request.durationMs / 1000);
        }
      },
      onInFlight: (change) => inFlight.inc(change),
      onSubscription: (change) => subscriptions.inc(change),
      onPayload: () => payloads.inc(),
      onDrift: (entries) => {
        for (const entry of entries) drift.inc({ entry });
      },
      upstream: {
        onAttempt: ({ route, outcome, seconds, isRetry }) => {
          attempts.inc({ route, outcome });
          attemptSeconds.observe({ route }, seconds);
          if (isRetry) retries.inc({ route });
        },
        onCircuitState: (state, circuit) => {
          if (circuit === 'reads') setBreakerState(state);
        },
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

/** The root field, or `several`: combinations of up to ten fields would be too many label values. */
function operationOf({ operation, fields }: CompletedRequest): string {
  if (operation === undefined) return 'none';
  return fields?.includes(',') ? 'several' : (fields ?? 'none');
}
