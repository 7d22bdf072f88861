import { trace } from '@opentelemetry/api';
import { type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { printSpan } from './telemetry.ts';

// To be given to a process by --import: its spans stand on its stdout, each in a line.
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
