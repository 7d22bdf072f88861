import { untilStopped } from '../../util/running-process.ts';
import { GRAPHQL_PATH } from '../api/gateway-options.ts';
import type { Settings } from '../config/load.ts';
import { byOption, type SettingName } from '../config/settings.ts';
import { assembleGateway } from '../gateway.ts';
import type { Gateway } from '../http/gateway-type.ts';
import { listen } from '../http/http-server.ts';
import { prefersPage, targetOf } from '../http/request-head.ts';
import { RESPONSE_HEADERS } from '../http/send-response.ts';
import { exportSpans } from './export-spans.ts';
import { createLogger } from './logger.ts';
import type { ServerProcess } from './server-process.ts';

/** A stand-in for the service, with fake data. Disposing it stops it. */
export type DemoService = AsyncDisposable & {
  readonly url: string;
  readonly clients: readonly { readonly clientId: string; readonly secret: string }[];
};

/**
 * Runs the gateway until the process should shut down, then shuts it down gracefully.
 * @param startSandbox starts the service that is used without UPSTREAM_URL.
 * @throws Node's error if a port or a file cannot be opened.
 */
export async function serve(
  runtime: ServerProcess,
  { config, contract, tls, headers }: Settings<SettingName>,
  startSandbox: () => Promise<DemoService>,
): Promise<void> {
  // Disposed last: the spans of the other parts are sent too.
  await using _spans = await exportSpans(runtime);
  await using sandbox = config.UPSTREAM_URL === undefined ? await startSandbox() : null;
  const upstreamUrl = config.UPSTREAM_URL?.href ?? sandbox?.url ?? '';
  // Disposed after the gateway, so that metrics can be scraped while it drains.
  await using metrics =
    config.METRICS_PORT === undefined
      ? null
      : await (await import('./metrics-server.ts')).serveMetrics(
          config.METRICS_HOST,
          config.METRICS_PORT,
        );
  const log = createLogger(runtime, config);
  const draining = new AbortController();
  await using gateway = assembleGateway({
    ...runtime, // the time and random numbers
    tracer: runtime.getTracer(),
    ...byOption('', config),
    upstream: { ...byOption('upstream.', config), url: new URL(upstreamUrl), tls, headers },
    contract,
    path: GRAPHQL_PATH,
    playground: config.PLAYGROUND ? toPlayground(sandbox) : null,
    observer: metrics?.observer,
    log,
    draining: draining.signal,
  });
  await using server = await listen(config.PLAYGROUND ? withRedirect(gateway) : gateway, {
    host: config.HOST,
    port: config.PORT,
    draining,
    drainMs: config.SHUTDOWN_DRAIN_MS,
    timeoutMs: config.SHUTDOWN_TIMEOUT_MS,
    corsOrigins: config.CORS_ORIGINS,
  });
  const url = `${server.url}${GRAPHQL_PATH}`;
  const banner = [
    `Keytrail ${runtime.version}`,
    '',
    `  GraphQL      ${url}`,
    ...(config.PLAYGROUND ? [`  Playground   ${url} (in a browser)`] : []),
    `  Forwards to  ${upstreamUrl.replace(/\/$/, '')}`,
    ...(metrics === null ? [] : [`  Metrics      ${metrics.url}`]),
    ...(sandbox === null ? [] : describeSandbox(url, sandbox)),
  ];
  // Programs read the output in production.
  if (config.NODE_ENV === 'production')
    log.info({ version: runtime.version, url, metrics: metrics?.url }, 'listening');
  else runtime.stderr.write(`${banner.join('\n')}\n\n`);
  await untilStopped(runtime);
  // A login or deletion continues after its client disconnects, but not beyond the shutdown deadline.
  setTimeout(gateway.abort, config.SHUTDOWN_TIMEOUT_MS).unref();
}

/** Redirects browsers from `/` to the playground. In the command only: a program may have its own page there. */
function withRedirect({ handle }: Gateway): Pick<Gateway, 'handle'> {
  const redirect = { ...RESPONSE_HEADERS, location: GRAPHQL_PATH, 'content-length': 0 };
  return {
    handle: async (request, response) => {
      const { method, headers } = request;
      const isRead = method === 'GET' || method === 'HEAD';
      if (targetOf(request) === '/' && isRead && prefersPage(headers.accept))
        response.writeHead(302, redirect).end();
      else await handle(request, response);
    },
  };
}

function toPlayground(sandbox: DemoService | null) {
  const { clientId, secret: clientSecret } = sandbox?.clients[0] ?? {};
  return { clientId, clientSecret, keyToDelete: sandbox?.clients.at(-1)?.clientId };
}

/** The demo clients of the sandbox, and how to log in. */
function describeSandbox(url: string, { clients }: DemoService): readonly string[] {
  const [first] = clients;
  const query =
    'mutation ($clientId: ID!, $clientSecret: String!) { login(clientId: $clientId, credential: {clientSecret: $clientSecret}) { accessToken refreshToken expiresAt } }';
  const variables = { clientId: first?.clientId, clientSecret: first?.secret };
  return [
    '',
    '  THIS IS THE SANDBOX: an embedded service with fake data. Set UPSTREAM_URL to use your service.',
    '',
    '  Demo clients and their secrets:',
    ...clients.map(({ clientId, secret }) => `    ${clientId.padEnd(14)} ${secret}`),
    '',
    `  Log in as ${first?.clientId}:`,
    `    curl -s ${url} -H 'content-type: application/json' -d '${JSON.stringify({ query, variables })}'`,
  ];
}
