import { setTimeout as wait } from 'node:timers/promises';
import { ProxyTracerProvider, trace } from '@opentelemetry/api';
import type { ServerProcess } from './server-process.ts';

/** The variables with which OpenTelemetry's SDK is loaded. It reads them itself, and all others that begin with OTEL_. */
const ENDPOINTS = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] as const;

const INSTALL = 'run npm install @opentelemetry/sdk-node';

/** How long the last spans may take at the end, if the collector does not respond. */
const FLUSH_MS = 3000;

/**
 * Exports the spans of this process from now on, if an endpoint for them is set. Disposing the result sends the remaining
 * ones. Without the SDK it says how to install it: a gateway without traces is better than none.
 */
export async function exportSpans(runtime: ServerProcess): Promise<AsyncDisposable | null> {
  const { environment, stderr } = runtime;
  const endpoint = ENDPOINTS.find((name) => environment[name]?.trim());
  if (endpoint === undefined || hasSdk()) return null;
  const loaded = await runtime.loadSdk().catch((error: unknown) => {
    if (Object(error).code === 'ERR_MODULE_NOT_FOUND') return null;
    throw error;
  });
  if (loaded === null) {
    stderr.write(`keytrail: ${endpoint} is set, but no spans are sent: ${INSTALL}\n`);
    return null;
  }
  const sdk = new loaded.NodeSDK({
    ...(!isNamed(environment) && { serviceName: 'keytrail' }),
    metricReaders: [],
    logRecordProcessors: [],
  });
  sdk.start();
  return {
    [Symbol.asyncDispose]: async () => {
      // It rejects if the collector refuses the spans. With OTEL_LOG_LEVEL the SDK says why.
      const sent = sdk
        .shutdown()
        .catch(() => {})
        .then(() => true);
      if (!(await Promise.race([sent, wait(FLUSH_MS, false, { ref: false })]))) runtime.exit();
    },
  };
}

/** Whether the process has an SDK, by `--import`. Its copy of the API may be another one. */
function hasSdk(): boolean {
  const provider = trace.getTracerProvider();
  return !(
    provider instanceof ProxyTracerProvider && provider.getDelegateTracer('keytrail') === undefined
  );
}

/** Whether a variable names the service. The SDK's own default is `unknown_service`. */
function isNamed(environment: ServerProcess['environment']): boolean {
  const { OTEL_SERVICE_NAME: name = '', OTEL_RESOURCE_ATTRIBUTES: attributes = '' } = environment;
  return name.trim() !== '' || /(?:^|,)\s*service\.name\s*=/.test(attributes);
}
