import { ConfigError } from '../config/config-error.ts';
import { loadSettings } from '../config/load.ts';
import { assembleGateway } from '../gateway.ts';
import type { Sandbox } from '../sandbox/server.ts';
import { listen } from '../server/http-server.ts';
import { formatBanner } from './banner.ts';
import type { CommandLine } from './command-line.ts';
import { createLogger } from './logger.ts';
import { type Runtime, untilStopped } from './runtime.ts';

/**
 * Runs the gateway until the process should shut down, then shuts it down gracefully.
 * @throws ConfigError for invalid settings, and Node's error if a port or a file cannot be opened.
 */
export async function serve(runtime: Runtime, commandLine: CommandLine): Promise<void> {
  const { config, contract, tls } = loadSettings({ ...runtime, ...commandLine });
  if (config.UPSTREAM_URL !== undefined && commandLine.data !== undefined) {
    throw new ConfigError(['--data is for the sandbox: remove it, or UPSTREAM_URL.']);
  }
  await using sandbox =
    config.UPSTREAM_URL === undefined
      ? await (await import('../sandbox/server.ts')).startSandbox({
          ...runtime,
          host: '127.0.0.1',
          port: 0,
          file: commandLine.data,
        })
      : null;
  const upstreamUrl = config.UPSTREAM_URL?.href ?? sandbox?.url ?? '';
  // Disposed after the gateway, so that metrics can be scraped while it drains.
  await using metrics =
    config.METRICS_PORT === undefined
      ? null
      : await (await import('./metrics-server.ts')).serveMetrics(config.METRICS_PORT);
  const draining = new AbortController();
  await using gateway = assembleGateway({
    ...runtime, // the time, random numbers and the tracer
    upstream: {
      url: new URL(upstreamUrl),
      timeoutMs: config.UPSTREAM_TIMEOUT_MS,
      connections: config.UPSTREAM_CONNECTIONS,
      maxBytes: config.UPSTREAM_MAX_BYTES,
      tls,
    },
    contract,
    introspection: config.INTROSPECTION,
    playground: config.PLAYGROUND ? toPlayground(sandbox) : null,
    loginRateLimit: { perMinute: config.LOGIN_RATE_LIMIT, redisUrl: config.RATE_LIMIT_REDIS_URL },
    trustedProxies: config.TRUSTED_PROXIES,
    observer: metrics?.observer,
    maxInFlight: config.MAX_IN_FLIGHT,
    corsOrigins: config.CORS_ORIGINS,
    log: await createLogger(runtime, config),
    draining: draining.signal,
  });
  await using server = await listen(gateway, {
    host: config.HOST,
    port: config.PORT,
    draining,
    drainMs: config.SHUTDOWN_DRAIN_MS,
    timeoutMs: config.SHUTDOWN_TIMEOUT_MS,
  });
  runtime.stderr.write(
    formatBanner({
      version: runtime.version,
      origin: server.url,
      upstreamUrl,
      hasPlayground: config.PLAYGROUND,
      sandbox,
      metricsUrl: metrics?.url,
    }),
  );
  await untilStopped(runtime);
  // A login or deletion continues after its client disconnects, but not beyond the shutdown deadline.
  setTimeout(gateway.abort, config.SHUTDOWN_TIMEOUT_MS).unref();
}

function toPlayground(sandbox: Sandbox | null) {
  const [, login, toDelete] = sandbox?.clients ?? []; // the first is for the command in the banner
  const { clientId, secret: clientSecret } = login ?? {};
  return { clientId, clientSecret, keyToDelete: toDelete?.clientId };
}
