import { hash } from 'node:crypto';
import { once } from 'node:events';
import type { IRateLimiterOptions, RateLimiterAbstract } from 'rate-limiter-flexible';
import RateLimiterMemory from 'rate-limiter-flexible/lib/RateLimiterMemory.js';
import RateLimiterRes from 'rate-limiter-flexible/lib/RateLimiterRes.js';
import { GatewayError } from '../errors.ts';
import type { LoginRateLimitObserver } from '../observability/observer.ts';

/** The limit on logins, and where replicas share the count. */
export type LoginRateLimitOptions = {
  /** Logins per minute for each client ID, and the same for each IP address; 0 = no limit. */
  readonly perMinute: number;
  /** Redis that replicas share the count in, redis:// or rediss://. Without it each counts in memory. */
  readonly redisUrl?: string | undefined;
  readonly observer?: LoginRateLimitObserver | undefined;
};

/** Limits logins. Disposing it closes the connection to Redis. */
export type LoginRateLimiter = AsyncDisposable & {
  /**
   * Counts a login by client ID and IP address; by client ID alone if the address is null.
   * @throws GatewayError RATE_LIMITED if either limit is exceeded.
   */
  admit(clientId: string, address: string | null): Promise<void>;
};

/**
 * Counts a login by digests of its client ID and IP address. Resolves to null if it is within both limits, else to the
 * limit that is exceeded. Rejects if it cannot count.
 */
type LoginCounter = (
  client: string,
  address: string | null,
) => Promise<{ readonly by: Limit; readonly waitMs: number } | null>;

/** What logins are counted by. */
type Limit = keyof typeof MESSAGES;

/** How long a login waits for Redis before it is counted in memory. */
const TIMEOUT_MS = 500;

/** Creates a login rate limiter. With Redis it connects in the background, and counts in memory while Redis is away. */
export function createLoginRateLimiter(options: LoginRateLimitOptions): LoginRateLimiter {
  const { perMinute, redisUrl, observer } = options;
  if (perMinute === 0) {
    return { admit: async () => {}, [Symbol.asyncDispose]: async () => {} };
  }
  const countInMemory = createLoginCounter(perMinute, (bucket) => new BoundedMemory(bucket));
  let isFallback = false;
  const setFallback = (value: boolean) => {
    if (value === isFallback) return;
    isFallback = value;
    observer?.onFallback?.(value);
  };
  const onClose = () => setFallback(true);
  const shared = redisUrl === undefined ? null : connectRedis(redisUrl, perMinute, onClose);

  const count: LoginCounter = async (client, address) => {
    if (shared === null) return countInMemory(client, address);
    const { reconnect, countInRedis } = await shared;
    try {
      const rejection = await countInRedis(client, address);
      setFallback(false);
      return rejection;
    } catch {
      setFallback(true);
      // So that the next logins do not wait for a Redis that hangs: without a connection they fail fast.
      reconnect();
      return countInMemory(client, address);
    }
  };

  return {
    admit: async (clientId, address) => {
      const rejection = await count(digest(clientId), address && digest(address));
      if (rejection === null) return;
      observer?.onRefused?.(rejection.by);
      throw new GatewayError('RATE_LIMITED', {
        message: MESSAGES[rejection.by],
        reason: 'LOGIN_LIMIT',
        retryAfterSeconds: Math.max(1, Math.ceil(rejection.waitMs / 1000)),
      });
    },
    [Symbol.asyncDispose]: async () => {
      if (shared === null) return;
      const { redis } = await shared;
      redis.off('close', onClose);
      redis.disconnect();
    },
  };
}

const MESSAGES = {
  client:
    'Too many logins of this client: use the access token of its last login, or wait `retryAfterSeconds`, then retry. Nothing was sent.',
  address:
    'Too many logins from this IP address: use the access token of the last login, or wait `retryAfterSeconds`, then retry. Nothing was sent.',
};

/** Other applications may read the same Redis; and a digest is short, however long the ID is. */
function digest(text: string): string {
  return hash('sha256', text, 'base64url');
}

/** Resolves when Redis is connected, or after {@link TIMEOUT_MS}; it then keeps reconnecting in the background. */
async function connectRedis(url: string, perMinute: number, onClose: () => void) {
  const { Redis } = await import('ioredis');
  const { default: RateLimiterRedis } = await import(
    'rate-limiter-flexible/lib/RateLimiterRedis.js'
  );
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false, // such a login has been counted in memory
    maxRetriesPerRequest: 0,
    commandTimeout: TIMEOUT_MS,
    disconnectTimeout: TIMEOUT_MS,
  });
  redis.on('error', () => {}); // 'close' follows
  redis.on('close', onClose);
  const countInRedis = createLoginCounter(
    perMinute,
    (bucket) =>
      new RateLimiterRedis({ ...bucket, storeClient: redis, rejectIfRedisNotReady: true }),
  );
  await once(redis, 'ready', { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(() => {});
  // Once per connection: it stays `ready` until it has closed, and every call to `disconnect` adds a listener to it.
  let isClosing = false;
  redis.on('close', () => {
    isClosing = false;
  });
  const reconnect = () => {
    if (redis.status !== 'ready' || isClosing) return;
    isClosing = true;
    redis.disconnect(true);
  };
  return { redis, reconnect, countInRedis };
}

function createLoginCounter(
  perMinute: number,
  createBucket: (options: IRateLimiterOptions) => RateLimiterAbstract,
): LoginCounter {
  const create = (limit: Limit) =>
    createBucket({ keyPrefix: `keytrail:login:${limit}`, points: perMinute, duration: 60 });
  const [clients, addresses] = [create('client'), create('address')];
  // The address is checked first, so that trying many client IDs from one address does not use up the limits of those
  // clients. A login rejected by client ID gives its point of the address back: other clients may share the address.
  return async (client, address) => {
    if (address !== null) {
      const waitMs = await consume(addresses, address);
      if (waitMs !== null) return { by: 'address', waitMs };
    }
    const waitMs = await consume(clients, client);
    if (waitMs === null) return null;
    if (address !== null) await addresses.reward(address);
    return { by: 'client', waitMs };
  };
}

/** Returns the milliseconds to wait, or null if a point was left. A rejected attempt costs none. */
async function consume(bucket: RateLimiterAbstract, key: string): Promise<number | null> {
  try {
    await bucket.consume(key);
    return null;
  } catch (rejected) {
    if (!(rejected instanceof RateLimiterRes)) throw rejected;
    await bucket.reward(key);
    return rejected.msBeforeNext;
  }
}

/** For each of the two limits; about 10 MB for both. */
const MAX_KEYS = 10_000;

/** Evicts the least recently used key, so that a flood of new keys neither fills the memory nor locks out a client. */
class BoundedMemory extends RateLimiterMemory {
  readonly #keys = new Set<string>();

  override consume(key: string) {
    this.#keys.delete(key);
    this.#keys.add(key);
    const [oldest] = this.#keys;
    if (this.#keys.size > MAX_KEYS && oldest !== undefined) {
      this.#keys.delete(oldest);
      void this.delete(oldest);
    }
    return super.consume(key);
  }
}
