import { describe, expect, it } from 'vitest';
import {
  AuditDocument,
  DeleteApiKeyDocument,
  LoginDocument,
} from '../src/client/operations.generated.ts';
import {
  SETTING_NAMES,
  type SettingName,
  toCommandOption,
} from '../src/gateway/config/settings.ts';
import { keytrailInProcess, startKeytrail } from './helpers/process.ts';
import { type ServiceResponse, startService } from './helpers/service.ts';

/** One value for each input that may hold a secret. None may appear in the output or in an error. */
const CANARY = {
  clientId: 'canary-client-id',
  secret: 'canary-secret',
  refreshToken: 'canary-refresh-token',
  token: 'canary-access-token',
  parameter: 'canary-parameter',
  literal: 'canary_literal',
  header: 'canary-header',
  upstreamBody: 'canary-upstream-body',
  upstreamHeader: 'canary-upstream-header',
};

const RESPONSES: readonly ServiceResponse[] = [
  ...[200, 302, 400, 401, 403, 404, 409, 429, 500, 503, 504].map((status) => ({ status })),
  { headers: { 'content-type': 'text/html' }, body: `<p>${CANARY.upstreamBody}</p>` },
  { body: `{"${CANARY.upstreamBody}": ` },
  { headers: { 'content-encoding': 'gzip' } },
];

/** The settings whose values a problem may quote. No other one may be added without a thought about secrets. */
const QUOTABLE = [
  ...['UPSTREAM_TIMEOUT_MS', 'UPSTREAM_CONNECTIONS', 'UPSTREAM_MAX_BYTES'],
  ...['UPSTREAM_CA_FILE', 'UPSTREAM_CERT_FILE', 'UPSTREAM_ALLOW_HTTP'],
  ...['NO_PROXY', 'KEYTRAIL_CONTRACT', 'FORWARD_CLIENT', 'HOST', 'PORT', 'NODE_ENV'],
  ...['INTROSPECTION', 'PLAYGROUND', 'EXPLAIN'],
  ...['MAX_IN_FLIGHT', 'MAX_SUBSCRIPTIONS', 'LOGIN_RATE_LIMIT'],
  'TRUSTED_PROXIES',
  ...['SHUTDOWN_DRAIN_MS', 'SHUTDOWN_TIMEOUT_MS', 'METRICS_PORT', 'METRICS_HOST'],
  'LOG_LEVEL',
];

/** Settings with which another one is read. */
const OTHERS: Readonly<Partial<Record<SettingName, Readonly<Record<string, string>>>>> = {
  HTTPS_PROXY: { UPSTREAM_URL: 'https://service.example' },
  HTTP_PROXY: { UPSTREAM_URL: 'http://service.example', UPSTREAM_ALLOW_HTTP: 'on' },
  NO_PROXY: { UPSTREAM_URL: 'https://service.example', HTTPS_PROXY: 'http://proxy.example' },
};

describe('no secret', () => {
  it('is in a problem with a setting that may hold one', async () => {
    const quoted: string[] = [];
    for (const name of SETTING_NAMES) {
      const others = OTHERS[name] ?? {};
      await using byVariable = keytrailInProcess([], { ...others, [name]: '"canary"' });
      await using byOption = keytrailInProcess([toCommandOption(name), '"canary"'], others);
      expect([await byVariable.status, await byOption.status]).toEqual([2, 2]);
      const [variable, option] = [byVariable, byOption].map(({ output }) => output.stderr);
      expect(variable).toContain(`  - ${name} must be `);
      expect(option).toContain(`  - ${toCommandOption(name)} must be `);
      expect(variable?.includes('canary')).toBe(option?.includes('canary'));
      if (variable?.includes('canary')) quoted.push(name);
    }
    expect(quoted).toEqual(QUOTABLE);
  });

  it('is in the log, a metric, a span, an error or the startup message, whatever fails', async () => {
    let reply: ServiceResponse | 'reset' = {};
    await using service = await startService((_, response) => {
      if (reply === 'reset') {
        response.destroy();
        return undefined;
      }
      return {
        body: { note: CANARY.upstreamBody },
        ...reply,
        headers: {
          'x-note': CANARY.upstreamHeader,
          location: `/${CANARY.upstreamHeader}`,
          ...reply.headers,
        },
      };
    });
    await using process = startKeytrail([], {
      PORT: '0',
      LOGIN_RATE_LIMIT: '0',
      UPSTREAM_URL: service.url,
      LOG_LEVEL: 'trace',
      METRICS_PORT: '0',
      NODE_OPTIONS: '--import ./test/helpers/print-spans.ts',
    });
    const [, url = ''] = await process.until(/(http:\/\/127\.0\.0\.1:\d+\/graphql)/);
    const [, metricsUrl = ''] = await process.until(/(http:\/\/127\.0\.0\.1:\d+\/metrics)/);
    const errors: string[] = [];
    const post = async (body: unknown) => {
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${CANARY.token}`,
          cookie: CANARY.header,
          'x-request-id': `${CANARY.header} `.repeat(20),
        },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      });
      const result = await response.json();
      if (result.errors) errors.push(JSON.stringify(result.errors));
    };

    const { clientId, secret, refreshToken, parameter, literal } = CANARY;
    const parameters = [{ name: parameter, value: parameter }];
    for (reply of [...RESPONSES, 'reset' as const]) {
      await post({
        query: LoginDocument,
        variables: { clientId, credential: { clientSecret: secret } },
      });
      await post({ query: LoginDocument, variables: { clientId, credential: { refreshToken } } });
      await post({ query: AuditDocument, variables: { parameters, filter: { actor: clientId } } });
      await post({ query: DeleteApiKeyDocument, variables: { clientId } });
    }
    const login = `login(clientId: "${literal}", credential: {clientSecret: "${literal}"})`;
    await post({ query: `mutation { ${login} { tokenType } }` });
    await post({ query: `mutation { ${login} { nope } }` });
    await post({ query: `mutation { ${login} { tokenType } ` });
    await post({
      query: `mutation { login(clientId: ${literal}, credential: ${literal}) { tokenType } }`,
    });
    await post({
      query: `mutation ($a: ID = {a: "${literal}"}) { login(clientId: $a) { tokenType } }`,
    });
    await post({ query: LoginDocument, variables: { clientId: { secret }, credential: secret } });
    await post({ query: LoginDocument, variables: [secret] });
    await post(`{"query": "${secret}`);
    await post({ query: `{ audit(after: "${literal}") { totalCount } }` });

    const metrics = await (await fetch(metricsUrl)).text();
    expect(metrics).toContain('keytrail_upstream_calls_total{route="secrets",outcome="4xx"}');
    process.child.kill('SIGTERM');
    expect(await process.status).toBe(0);
    expect(errors.length).toBeGreaterThan(4 * RESPONSES.length);
    const { stdout, stderr } = process.output;
    expect(stdout.trim().split('\n').length).toBeGreaterThan(4 * RESPONSES.length);
    expect(stdout).toContain('\nCLIENT DELETE /api/v1/secrets/{client_id} {');
    expect(stdout).toContain('\nSERVER mutation deleteApiKey {');
    expect(stdout + stderr + errors.join() + metrics).not.toContain('canary');
  });
});
