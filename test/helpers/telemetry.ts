import { SpanKind, type Tracer } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { createMetrics } from '../../src/gateway/observability/metrics.ts';
import type { GatewayObserver } from '../../src/gateway/observability/observer.ts';

/** Spans and metrics of a gateway under test. */
export type Telemetry = {
  /** Dependencies of the gateway. */
  readonly parts: { readonly tracer: Tracer; readonly observer: GatewayObserver };
  /** Finished spans. */
  spans(): readonly ReadableSpan[];
  /** The text of all spans and metrics. */
  text(): Promise<string>;
};

/** Collects spans with OpenTelemetry's SDK, and metrics. */
export function createTelemetry(sampler?: Sampler): Telemetry {
  const exporter = new InMemorySpanExporter();
  const spanProcessors = [new SimpleSpanProcessor({ exporter })];
  const provider = new TracerProvider({ spanProcessors, ...(sampler && { sampler }) });
  const { observer, text } = createMetrics();
  return {
    parts: { tracer: provider.getTracer('keytrail'), observer },
    spans: () => exporter.getFinishedSpans(),
    text: async () => [await text(), ...exporter.getFinishedSpans().map(printSpan)].join('\n'),
  };
}

/** Prints a span as one line, with everything that the gateway set. */
export function printSpan(span: ReadableSpan): string {
  const { name, kind, attributes, events, links, status, parentSpanContext } = span;
  const context = span.spanContext();
  const given = { attributes, events, links, status, context, parent: parentSpanContext };
  return `${SpanKind[kind]} ${name} ${JSON.stringify(given)}`;
}
