import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/gateway/observability/metrics.ts';
import { ask, gatewayOver, onPort } from '../../helpers/gateway.ts';
import { keytrailInProcess, startKeytrail } from '../../helpers/process.ts';
import { startService } from '../../helpers/service.ts';

describe('metrics', () => {
  it('count requests, attempts, retries, rejected logins and drift, without a value of a client in any label', async () => {
    await using service = await startService(({ method, url }) => {
      if (url.includes('again')) return { status: service.seen.length === 1 ? 503 : 200, body: [] };
      return method === 'GET' ? { body: [{ id: 'c4n4ry' }] } : { status: 404 };
    });
    const { observer, text } = createMetrics();
    await using gateway = gatewayOver(service.url, {
      observer,
      contract: { audit: { event: { id: '/Ref' } } },
      loginRateLimit: 1,
      trustedProxies: 1,
    });
    const token = { token: 'c4n4ry-token' };
    await ask(
      gateway,
      '{ audit(parameters: [{name: "again", value: "c4n4ry"}]) { totalCount } }',
      {},
      token,
    );
    await ask(
      gateway,
      '{ a: audit { nodes { id } } b: audit { totalCount } __typename }',
      {},
      token,
    );
    await ask(gateway, 'mutation { deleteApiKey(clientId: "c4n4ry") { outcome } }', {}, token);
    const login =
      'mutation { login(clientId: "c4n4ry", credential: {clientSecret: "c4n4ry"}) { tokenType } }';
    const headers = { 'x-forwarded-for': '192.0.2.1' };
    for (const _ of [1, 2]) await ask(gateway, login, {}, { headers });
    await ask(gateway, '{ nope }');

    const exposition = await text();
    const lines = exposition.split('\n');
    for (const line of [
      'keytrail_requests_total{operation="audit",code="OK"} 1',
      'keytrail_requests_total{operation="several",code="OK"} 1',
      'keytrail_requests_total{operation="deleteApiKey",code="NOT_FOUND"} 1',
      'keytrail_requests_total{operation="login",code="NOT_FOUND"} 1',
      'keytrail_requests_total{operation="login",code="RATE_LIMITED"} 1',
      'keytrail_requests_total{operation="none",code="GRAPHQL_VALIDATION_FAILED"} 1',
      'keytrail_requests_in_flight 0',
      'keytrail_upstream_calls_total{route="audit",outcome="5xx"} 1',
      'keytrail_upstream_calls_total{route="audit",outcome="2xx"} 2',
      'keytrail_upstream_calls_total{route="secrets",outcome="4xx"} 1',
      'keytrail_upstream_calls_total{route="login",outcome="4xx"} 1',
      'keytrail_upstream_retries_total{route="audit"} 1',
      'keytrail_breaker_state{state="closed"} 1',
      'keytrail_breaker_state{state="open"} 0',
      'keytrail_logins_refused_total{by="pair"} 1',
      'keytrail_contract_drift_total{entry="audit.event.id"} 1',
    ]) {
      expect(lines).toContain(line);
    }
    expect(exposition).toContain('nodejs_eventloop_lag_seconds');
    expect(exposition).not.toContain('c4n4ry');
  });

  it('count a client disconnect as such, not as a failure of the service', async () => {
    await using service = await startService(() => new Promise(() => {}));
    const { observer, text } = createMetrics();
    await using gateway = gatewayOver(service.url, { observer });
    await using server = await onPort(gateway);
    for (const count of [1, 2]) {
      const client = new AbortController();
      const response = fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer t' },
        body: '{"query": "{ audit { totalCount } }"}',
        signal: client.signal,
      });
      await expect.poll(() => service.seen.length).toBe(count);
      client.abort();
      await expect(response).rejects.toThrow();
    }
    await expect.poll(text).toContain('requests_total{operation="audit",code="ABORTED"} 2');
    const exposition = await text();
    expect(exposition).toContain('upstream_calls_total{route="audit",outcome="left"} 2');
    expect(exposition).not.toMatch(/code="UPSTREAM_|outcome="none"/);
  });

  it('expose rare counters as 0 from the start, so that their first increase is visible', async () => {
    const lines = (await createMetrics().text()).split('\n');
    for (const line of [
      'keytrail_requests_total{operation="none",code="OVERLOADED"} 0',
      'keytrail_upstream_retries_total{route="login"} 0',
      'keytrail_upstream_rejected_total{route="secrets"} 0',
      'keytrail_logins_refused_total{by="address"} 0',
      'keytrail_logins_refused_total{by="client"} 0',
      'keytrail_logins_refused_total{by="pair"} 0',
    ]) {
      expect(lines).toContain(line);
    }
  });

  // All of 127.0.0.0/8 is loopback on Linux only.
  it.skipIf(process.platform !== 'linux')(
    'are served at METRICS_HOST, and at no other address',
    async () => {
      for (const [host, other] of [
        ['127.0.0.1', '127.0.0.2'],
        ['127.0.0.2', '127.0.0.1'],
      ] as const) {
        const isDefault = host === '127.0.0.1';
        const settings = isDefault ? {} : { METRICS_HOST: host };
        await using keytrail = keytrailInProcess([], { PORT: '0', METRICS_PORT: '0', ...settings });
        const [, url = ''] = await keytrail.until(/Metrics +(http:\S+)/);
        expect(new URL(url).hostname).toBe(host);
        expect((await fetch(url)).status).toBe(200);
        await expect(fetch(url.replace(host, other))).rejects.toThrow();
        expect((await fetch(url.replace('/metrics', '/graphql'))).status).toBe(404);
      }
    },
  );

  it('are served on loopback if METRICS_PORT is set, and do not keep the process alive', async () => {
    await using process = startKeytrail([], { PORT: '0', METRICS_PORT: '0' });
    const [, url = ''] = await process.until(/Metrics +(http:\S+)/);
    const response = await fetch(url);
    expect(response.headers.get('content-type')).toContain('text/plain');
    expect(await response.text()).toContain('keytrail_requests_in_flight 0');
    expect((await fetch(`${url}?x=1`)).status).toBe(200);
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
    expect((await fetch(new URL('/', url))).status).toBe(404);
    process.child.kill('SIGTERM');
    expect(await process.status).toBe(0);
  });
});
