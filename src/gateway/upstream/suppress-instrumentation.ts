import { channel } from 'node:diagnostics_channel';
import { context, createContextKey, ROOT_CONTEXT } from '@opentelemetry/api';
import { suppressTracing } from '@opentelemetry/core';
import type { Dispatcher } from 'undici';

/** Where undici publishes each request before it sends it. An instrumentation of undici adds its headers here. */
const CREATED = channel('undici:request:create');

/** What undici publishes there (docs/docs/api/DiagnosticsChannel.md); its types lack `addHeader`. */
type Created = {
  readonly request: {
    /** Names and values, in turns. */
    readonly headers: readonly string[];
    addHeader(name: string, value: string): unknown;
  };
};

/** With it, SDKs record no span, and propagators inject nothing. */
const SUPPRESSED = suppressTracing(ROOT_CONTEXT);

const SENT = createContextKey('Keytrail headers');

/** The headers of a request, until it is created: a socket keeps the context of its first request, and must not keep a token. */
type Sent = { headers: Readonly<Record<string, string>> };

/**
 * Keeps OpenTelemetry's instrumentation of undici from recording a second span for each request, whose URL would have the
 * client ID, and from sending a second `traceparent`.
 */
export function suppressInstrumentation(
  pool: Pick<Dispatcher, 'dispatch'>,
): Pick<Dispatcher, 'dispatch'> {
  return {
    dispatch: (options, handler) => {
      if (!CREATED.hasSubscribers) return pool.dispatch(options, handler);
      // Subscribed last: after 0.34, the instrumentation removes trace headers before it injects its own, which are none.
      CREATED.unsubscribe(restoreHeaders);
      CREATED.subscribe(restoreHeaders);
      const sent = { headers: options.headers } as Sent; // sendRequest sends no others
      return context.with(SUPPRESSED.setValue(SENT, sent), () => pool.dispatch(options, handler));
    },
  };
}

function restoreHeaders(message: unknown): void {
  const sent = context.active().getValue(SENT) as Sent | undefined; // set above
  if (sent === undefined) return; // another client's request
  const { request } = message as Created;
  const names = request.headers.filter((_, index) => index % 2 === 0);
  for (const [name, value] of Object.entries(sent.headers))
    if (!names.includes(name)) request.addHeader(name, value);
  sent.headers = {};
}
