import { SpanKind, type Tracer } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { createMetrics } from '../../src/observability/metrics.ts';
import type { GatewayObserver } from '../../src/observability/observer.ts';

/** What a gateway under test tells to others than its log. */
export type Telemetry = {
  /** For the gateway. */
  readonly parts: { readonly tracer: Tracer; readonly observer: GatewayObserver };
  /** Spans that have ended. */
  spans(): readonly ReadableSpan[];
  /** All that could be read out of spans and metrics. */
  text(): Promise<string>;
};

/** Takes spans by OpenTelemetry's SDK, and metrics. */
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

/** A span as a line for people, with all that the gateway gave to it. */
export function printSpan(span: ReadableSpan): string {
  const { name, kind, attributes, events, links, status, parentSpanContext } = span;
  const context = span.spanContext();
  const given = { attributes, events, links, status, context, parent: parentSpanContext };
  return `${SpanKind[kind]} ${name} ${JSON.stringify(given)}`;
}
