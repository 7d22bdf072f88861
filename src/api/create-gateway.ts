import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { trace } from '@opentelemetry/api';
import { loadConfig } from '../config/load.ts';
import { createGateway as assemble } from '../gateway.ts';
import type { GatewayLog } from '../observability/observer.ts';
import type { Gateway } from '../server/types.ts';
import { checkOptions, type GatewayOptions } from './gateway-options.ts';

/**
 * Builds a gateway over a REST service, for a program of your own. It takes no port, reads no environment and shares
 * nothing with another gateway. Dispose it when it is no longer needed.
 * @throws ConfigError that names everything that is wrong with the options.
 */
export function createGateway(options: GatewayOptions): Gateway {
  const { loginRateLimit, rateLimitRedisUrl, ...checked } = checkOptions(options);
  const { upstream, playground, maxInFlight, log, draining, now, ...rest } = checked;
  const defaults = loadConfig({});
  return assemble({
    ...rest,
    upstream: {
      url: upstream.url,
      timeoutMs: upstream.timeoutMs ?? defaults.UPSTREAM_TIMEOUT_MS,
      connections: upstream.connections ?? defaults.UPSTREAM_CONNECTIONS,
      maxBytes: upstream.maxBytes ?? defaults.UPSTREAM_MAX_BYTES,
      tls: upstream.tls,
    },
    loginRateLimit: { perMinute: loginRateLimit, redisUrl: rateLimitRedisUrl },
    playground: playground ? {} : null,
    maxInFlight: maxInFlight ?? defaults.MAX_IN_FLIGHT,
    log: log ?? SILENT,
    now: now ?? (() => new Date()),
    clock: () => performance.now(),
    random: Math.random,
    tracer: trace.getTracer('keytrail'),
    createId: randomUUID,
    draining: draining ?? new AbortController().signal,
  });
}

const SILENT: GatewayLog = { info: () => {}, warn: () => {}, error: () => {} };
