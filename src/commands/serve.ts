import { type Logger, pino } from 'pino';
import { ConfigError } from '../config-error.ts';
import { createGateway } from '../gateway.ts';
import { GRAPHQL_PATH } from '../plugins/use-routes.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { listen } from '../server.ts';
import type { CommandLine } from './command-line.ts';
import { type Host, untilStopped } from './host.ts';
import { type MetricsServer, serveMetrics } from './metrics.ts';
import { startSandbox } from './sandbox.ts';
import { loadSettings } from './settings.ts';

/**
 * Serves the graph until the process is asked to stop.
 * @throws ConfigError for wrong settings, and what Node says when the port cannot be had.
 */
export async function serve(host: Host, commandLine: CommandLine): Promise<void> {
  const { config, contract, tls } = loadSettings(host, commandLine);
  if (config.UPSTREAM_URL !== undefined && commandLine.data !== undefined) {
    throw new ConfigError(['--data is for the sandbox, and with UPSTREAM_URL there is none.']);
  }
  const draining = new AbortController();

  await using sandbox =
    config.UPSTREAM_URL === undefined
      ? await startSandbox(host, { host: '127.0.0.1', port: 0, file: commandLine.data })
      : null;
  const metrics =
    config.METRICS_PORT === undefined ? undefined : (await import('../metrics.ts')).createMetrics();
  await using metricsServer =
    metrics === undefined ? null : await serveMetrics(metrics, config.METRICS_PORT ?? 0);
  const upstreamUrl = config.UPSTREAM_URL ?? new URL(sandbox?.url ?? '');
  await using gateway = createGateway({
    upstream: {
      url: upstreamUrl,
      timeoutMs: config.UPSTREAM_TIMEOUT_MS,
      connections: config.UPSTREAM_CONNECTIONS,
      maxBytes: config.UPSTREAM_MAX_BYTES,
      tls,
    },
    contract,
    introspection: config.INTROSPECTION,
    playground: config.PLAYGROUND ? toPlayground(sandbox) : null,
    loginGuard: { perMinute: config.LOGIN_RATE_LIMIT, redisUrl: config.RATE_LIMIT_REDIS_URL },
    trustedProxies: config.TRUSTED_PROXIES,
    observer: metrics?.observer,
    maxInFlight: config.MAX_IN_FLIGHT,
    corsOrigins: config.CORS_ORIGINS,
    log: await createLog(host, config.LOG_LEVEL),
    now: host.now,
    clock: host.clock,
    random: host.random,
    tracer: host.tracer,
    createId: host.createId,
    draining: draining.signal,
  });
  await using server = await listen(gateway, {
    host: config.HOST,
    port: config.PORT,
    draining,
    drainMs: config.SHUTDOWN_DRAIN_MS,
    fuseMs: config.SHUTDOWN_FUSE_MS,
  });

  host.stderr.write(
    greet(
      host.version,
      `${server.url}${GRAPHQL_PATH}`,
      upstreamUrl,
      config.PLAYGROUND,
      sandbox,
      metricsServer,
    ),
  );
  await untilStopped(host);
  // A deletion runs on when its caller has left, but not for longer than that.
  setTimeout(() => gateway.abort(), config.SHUTDOWN_FUSE_MS).unref();
}

/** JSON lines; for a terminal, lines for people. */
async function createLog({ stdout, now }: Host, level: string): Promise<Logger> {
  const options = { level, base: null, timestamp: () => `,"time":"${now().toISOString()}"` };
  if (!stdout.isTTY) return pino(options, stdout);
  const { default: pretty } = await import('pino-pretty');
  return pino(options, pretty({ singleLine: true, sync: true }));
}

function toPlayground(sandbox: Sandbox | null) {
  const [, login, toDelete] = sandbox?.clients ?? []; // the first one is for the greeting
  return {
    clientId: login?.clientId,
    clientSecret: login?.secret,
    keyToDelete: toDelete?.clientId,
  };
}

function greet(
  version: string,
  url: string,
  upstream: URL,
  playground: boolean,
  sandbox: Sandbox | null,
  metrics: MetricsServer | null,
): string {
  const lines = [
    `Keytrail ${version}`,
    '',
    `  GraphQL      ${url}`,
    ...(playground ? [`  Playground   ${url} (in a browser)`] : []),
    `  Forwards to  ${upstream.href.replace(/\/$/, '')}`,
    ...(metrics === null ? [] : [`  Metrics      ${metrics.url}`]),
    ...(sandbox === null ? [] : greetSandbox(url, sandbox, playground)),
  ];
  return `${lines.join('\n')}\n\n`;
}

function greetSandbox(url: string, { clients }: Sandbox, playground: boolean): readonly string[] {
  const [first] = clients;
  const uses = playground ? PLAYGROUND_USES : [];
  const query =
    'mutation ($clientId: ID!, $clientSecret: String!) { login(clientId: $clientId, credential: {clientSecret: $clientSecret}) { accessToken refreshToken expiresAt } }';
  const variables = { clientId: first?.clientId, clientSecret: first?.secret };
  return [
    '',
    '  THIS IS THE SANDBOX: a stand-in for the service, with made-up data. Set UPSTREAM_URL for the real one.',
    '',
    '  Demo clients, each with its secret for the first login:',
    ...clients.map(({ clientId, secret }, index) =>
      `    ${clientId.padEnd(14)} ${secret.padEnd(30)} ${uses[index] ?? ''}`.trimEnd(),
    ),
    '',
    `  Log in as ${first?.clientId}:`,
    `    curl -s ${url} -H 'content-type: application/json' -d '${JSON.stringify({ query, variables })}'`,
  ];
}

/** A secret is good for one login, so the playground has a client of its own. */
const PLAYGROUND_USES = [
  'logs in below',
  'logs in in the playground: press play in each tab, from left to right',
  'is deleted there',
];
