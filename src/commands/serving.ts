import type { Config } from '../config.ts';
import { createGateway } from '../gateway.ts';
import type { LoginCounter } from '../login-counter.ts';
import type { GatewayObserver } from '../observer.ts';
import type { PlaygroundOptions } from '../plugins/use-playground.ts';
import { listen } from '../server.ts';
import { type Host, untilStopped } from './host.ts';
import { createLog } from './log.ts';
import type { Exposition } from './metrics.ts';
import type { Settings } from './settings.ts';

/** All that has to be known to serve the graph, as JSON can carry it. */
export type Task = Pick<Settings, 'contract' | 'tls'> & {
  readonly config: Omit<Config, 'UPSTREAM_URL'>;
  /** The service, or the sandbox that stands in for it. */
  readonly upstreamUrl: string;
  /** What the playground's tabs hold; null turns it off. */
  readonly playground: PlaygroundOptions | null;
};

/** The graph, about to be served. */
export type Serving = {
  /** Left out when nobody wants it. */
  readonly metrics: Exposition | undefined;
  /** Serves until the process is asked to stop, and gives the exit status. It calls back once, when it listens. */
  run(onListening: (origin: string) => void): Promise<number>;
};

/** Prepares to serve in this process alone. */
export async function prepare(host: Host, task: Task): Promise<Serving> {
  const metrics =
    task.config.METRICS_PORT === undefined
      ? undefined
      : (await import('../metrics.ts')).createMetrics();
  return {
    metrics,
    run: async (onListening) => {
      await serveHere(host, task, { observer: metrics?.observer, onListening });
      return 0;
    },
  };
}

/**
 * Serves the graph in this process until it is asked to stop.
 * @throws what Node says when the port cannot be had.
 */
export async function serveHere(
  host: Host,
  { config, contract, tls, upstreamUrl, playground }: Task,
  {
    observer,
    countLogin,
    onListening,
  }: {
    readonly observer: GatewayObserver | undefined;
    readonly countLogin?: LoginCounter;
    readonly onListening: (origin: string) => void;
  },
): Promise<void> {
  const draining = new AbortController();
  await using gateway = createGateway({
    upstream: {
      url: new URL(upstreamUrl),
      timeoutMs: config.UPSTREAM_TIMEOUT_MS,
      connections: config.UPSTREAM_CONNECTIONS,
      maxBytes: config.UPSTREAM_MAX_BYTES,
      tls,
    },
    contract,
    introspection: config.INTROSPECTION,
    playground,
    loginGuard: {
      perMinute: config.LOGIN_RATE_LIMIT,
      redisUrl: config.RATE_LIMIT_REDIS_URL,
      countTogether: countLogin,
    },
    trustedProxies: config.TRUSTED_PROXIES,
    observer,
    maxInFlight: config.MAX_IN_FLIGHT,
    corsOrigins: config.CORS_ORIGINS,
    log: await createLog(host, config),
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
  onListening(server.url);
  await untilStopped(host);
  // A deletion runs on when its caller has left, but not for longer than that.
  setTimeout(gateway.abort, config.SHUTDOWN_FUSE_MS).unref();
}
