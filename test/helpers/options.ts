import type { SettingName } from '../../src/config/settings.ts';

/** The option of `createGateway` for a setting. It takes the texts themselves instead of the paths of files. */
export const OPTIONS: Readonly<Partial<Record<SettingName, string>>> = {
  UPSTREAM_URL: 'upstream.url',
  UPSTREAM_TIMEOUT_MS: 'upstream.timeoutMs',
  UPSTREAM_CONNECTIONS: 'upstream.connections',
  UPSTREAM_MAX_BYTES: 'upstream.maxBytes',
  UPSTREAM_CA_FILE: 'upstream.tls.ca',
  UPSTREAM_CERT_FILE: 'upstream.tls.cert',
  UPSTREAM_KEY_FILE: 'upstream.tls.key',
  UPSTREAM_ALLOW_HTTP: 'upstream.allowHttp',
  KEYTRAIL_CONTRACT: 'contract',
  INTROSPECTION: 'introspection',
  PLAYGROUND: 'playground',
  CORS_ORIGINS: 'corsOrigins',
  MAX_IN_FLIGHT: 'maxInFlight',
  LOGIN_RATE_LIMIT: 'loginRateLimit',
  RATE_LIMIT_REDIS_URL: 'rateLimitRedisUrl',
  TRUSTED_PROXIES: 'trustedProxies',
};
