import { trace } from '@opentelemetry/api';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import { describe, expect, it } from 'vitest';
import { type KeytrailProcess, keytrailInProcess, startKeytrail } from '../../helpers/process.ts';
import { type Service, startService } from '../../helpers/service.ts';

const QUERY = 'mutation { deleteApiKey(clientId: "c4n4ry") { outcome } }';

/** Starts the command in front of a service, with only the given variables of OpenTelemetry. */
function start(service: Service, variables: Readonly<Record<string, string>>) {
  return startKeytrail(['--log-level', 'info'], {
    PORT: '0',
    UPSTREAM_URL: service.url,
    ...variables,
  });
}

/** Sends a deletion, and stops the process. Returns its exit status. */
async function deleteAndStop(keytrail: KeytrailProcess): Promise<number | null> {
  const [url = ''] = await keytrail.until(/http:\/\/127\.0\.0\.1:\d+\/graphql/);
  const headers = { 'content-type': 'application/json', authorization: 'Bearer c4n4ry' };
  const response = await fetch(url, {
    method: 'POST',
    headers,
    body: JSON.stringify({ query: QUERY }),
  });
  expect(await response.json()).toMatchObject({ data: { deleteApiKey: { outcome: 'DELETED' } } });
  keytrail.child.kill('SIGTERM');
  return keytrail.status;
}

describe('OTEL_EXPORTER_OTLP_ENDPOINT', () => {
  it('alone sends the spans of a request, as protobuf, before the process exits', async () => {
    await using service = await startService({});
    await using collector = await startService({});
    await using keytrail = start(service, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    expect(await deleteAndStop(keytrail)).toBe(0);
    expect(collector.seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'POST /v1/traces', // no metrics, and no logs
    ]);
    const [{ headers, body } = { headers: {}, body: '' }] = collector.seen;
    expect(headers['content-type']).toBe('application/x-protobuf');
    for (const text of ['mutation deleteApiKey', 'DELETE /api/v1/secrets/{client_id}'])
      expect(body).toContain(text);
    expect(body).toMatch(/service\.name\W+keytrail\W/);
    expect(body).not.toContain('c4n4ry');
    expect(body).not.toContain('--log-level'); // an option may hold the password of Redis
  });

  it('sends JSON with the names and samples that the other variables specify, in the trace of the service', async () => {
    await using service = await startService({});
    await using collector = await startService({});
    const variables = {
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/otlp`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_RESOURCE_ATTRIBUTES: 'service.version=7,service.name=audit-gateway',
      OTEL_PROPAGATORS: 'b3',
    };
    await using keytrail = start(service, variables);
    expect(await deleteAndStop(keytrail)).toBe(0);
    expect(collector.seen.map(({ url }) => url)).toEqual(['/otlp/v1/traces']);
    const [{ resource, scopeSpans }] = JSON.parse(collector.seen[0]?.body ?? '').resourceSpans;
    const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });
    expect(resource.attributes).toEqual(
      expect.arrayContaining([
        attribute('service.name', 'audit-gateway'),
        attribute('service.version', '7'),
      ]),
    );
    const [{ traceId, spanId }] = scopeSpans[0].spans;
    expect(service.seen[0]?.headers).toMatchObject({ b3: `${traceId}-${spanId}-1` });
    expect(service.seen[0]?.headers).not.toHaveProperty('traceparent');
  });

  it('sends nothing if the sampler samples nothing', async () => {
    await using service = await startService({});
    await using collector = await startService({});
    await using keytrail = start(service, {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: collector.url,
      OTEL_TRACES_SAMPLER: 'always_off',
    });
    expect(await deleteAndStop(keytrail)).toBe(0);
    expect(collector.seen).toEqual([]);
    expect(service.seen[0]?.headers['traceparent']).toMatch(/-00$/);
  });

  it('loads no second SDK beside one that the process has', async () => {
    trace.setGlobalTracerProvider(new TracerProvider());
    try {
      const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' };
      await using keytrail = keytrailInProcess(['--port', '0'], variables); // it would find none to load
      await keytrail.until(/Forwards to/);
      expect(keytrail.output.stderr).not.toContain('OTEL_');
    } finally {
      trace.disable();
    }
  });

  it.each([
    ['does not respond', () => new Promise<undefined>(() => {})],
    ['refuses the spans', { status: 400 }],
  ])('lets the process exit with 0 if the collector %s', async (_, response) => {
    await using service = await startService({});
    await using collector = await startService(response);
    await using keytrail = start(service, {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      // Otherwise the SDK would give up soon. The test's timeout is shorter.
      OTEL_EXPORTER_OTLP_TIMEOUT: '600000',
      OTEL_BSP_EXPORT_TIMEOUT: '600000',
    });
    expect(await deleteAndStop(keytrail)).toBe(0);
    expect(collector.seen).toHaveLength(1);
  });

  it.each(['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'])(
    'without the SDK says which package to install, and serves: %s',
    async (name) => {
      await using keytrail = keytrailInProcess(['--port', '0'], { [name]: 'http://127.0.0.1:1' });
      await keytrail.until(/Forwards to/);
      expect(keytrail.output.stderr).toMatch(
        new RegExp(`^keytrail: ${name} is set, but .* npm install @opentelemetry/sdk-node\n`),
      );
    },
  );

  it('that is empty or absent loads nothing', async () => {
    await using keytrail = keytrailInProcess(['--port', '0'], { OTEL_EXPORTER_OTLP_ENDPOINT: ' ' });
    await keytrail.until(/Forwards to/);
    expect(keytrail.output.stderr).not.toContain('OTEL_');
  });
});
