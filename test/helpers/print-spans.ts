import { trace } from '@opentelemetry/api';
import { type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { printSpan } from './telemetry.ts';

// Loaded with --import: prints each span of the process on stdout, one per line.
const exporter = {
  export: (spans: readonly ReadableSpan[], done: (result: { code: number }) => void) => {
    for (const span of spans) process.stdout.write(`${printSpan(span)}\n`);
    done({ code: 0 });
  },
  shutdown: async () => {},
};
trace.setGlobalTracerProvider(
  new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }),
);
