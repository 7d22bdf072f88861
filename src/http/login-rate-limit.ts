import { once } from 'node:events';
import { GatewayError } from '../errors.ts';
import type { LoginRateLimitObserver } from '../observability/observer.ts';
import { digest } from '../util/digest.ts';

/** The limit on logins, and where replicas share the count. */
export type LoginRateLimitOptions = {
  /** Logins per minute for each client ID, and the same for each IP address; 0 = no limit. */
  readonly perMinute: number;
  /** Redis that replicas share the count in, redis:// or rediss://. Without it each counts in memory. */
  readonly redisUrl?: string | undefined;
  readonly observer?: LoginRateLimitObserver | undefined;
  /** Monotonic clock, in milliseconds. */
  readonly clock: () => number;
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

/** Counts by key. */
type Bucket = {
  /** Takes a point. Resolves to null, or to the milliseconds to wait if none is left. Rejects if it cannot count. */
  take(key: string): Promise<number | null>;
  /** Gives a point back. */
  giveBack(key: string): Promise<unknown>;
};

/** The points are for this time. */
const WINDOW_S = 60;

/** How long a login waits for Redis before it is counted in memory. */
const TIMEOUT_MS = 500;

/** Creates a login rate limiter. With Redis it connects in the background, and counts in memory while Redis is away. */
export function createLoginRateLimiter(options: LoginRateLimitOptions): LoginRateLimiter {
  const { perMinute, redisUrl, observer, clock } = options;
  if (perMinute === 0) {
    return { admit: async () => {}, [Symbol.asyncDispose]: async () => {} };
  }
  const countInMemory = createLoginCounter(() => createMemoryBucket(perMinute, clock));
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
      // Other applications may read the same Redis; and a digest is short, however long the ID is.
      const rejection = await count(digest(clientId), address && digest(address));
      if (rejection === null) return;
      observer?.onRefused?.(rejection.by);
      throw new GatewayError('RATE_LIMITED', {
        message: MESSAGES[rejection.by],
        reason: 'LOGIN_LIMIT',
        // Redis counts by the clock of its machine: after a jump back, its keys expire late.
        retryAfterSeconds: Math.min(Math.max(1, Math.ceil(rejection.waitMs / 1000)), WINDOW_S),
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

/** Resolves when Redis is connected, or after {@link TIMEOUT_MS}; it then keeps reconnecting in the background. */
async function connectRedis(url: string, perMinute: number, onClose: () => void) {
  const { Redis } = await import('ioredis');
  const { default: RateLimiterRedis } = await import(
    'rate-limiter-flexible/lib/RateLimiterRedis.js'
  );
  const { default: RateLimiterRes } = await import('rate-limiter-flexible/lib/RateLimiterRes.js');
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false, // such a login has been counted in memory
    maxRetriesPerRequest: 0,
    commandTimeout: TIMEOUT_MS,
    disconnectTimeout: TIMEOUT_MS,
  });
  redis.on('error', () => {}); // 'close' follows
  redis.on('close', onClose);
  const countInRedis = createLoginCounter((limit): Bucket => {
    const limiter = new RateLimiterRedis({
      keyPrefix: `keytrail:login:${limit}`,
      points: perMinute,
      duration: WINDOW_S,
      storeClient: redis,
      rejectIfRedisNotReady: true,
    });
    return {
      take: async (key) => {
        try {
          await limiter.consume(key);
          return null;
        } catch (rejected) {
          if (!(rejected instanceof RateLimiterRes)) throw rejected;
          await limiter.reward(key); // a rejected attempt costs none
          return rejected.msBeforeNext;
        }
      },
      giveBack: (key) => limiter.reward(key),
    };
  });
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

function createLoginCounter(create: (limit: Limit) => Bucket): LoginCounter {
  const [clients, addresses] = [create('client'), create('address')];
  // The address is checked first, so that trying many client IDs from one address does not use up the limits of those
  // clients. A login rejected by client ID gives its point of the address back: other clients may share the address.
  return async (client, address) => {
    if (address !== null) {
      const waitMs = await addresses.take(address);
      if (waitMs !== null) return { by: 'address', waitMs };
    }
    const waitMs = await clients.take(client);
    if (waitMs === null) return null;
    if (address !== null) await addresses.giveBack(address);
    return { by: 'client', waitMs };
  };
}

/** For each of the two limits; about 4 MB for both. */
const MAX_KEYS = 10_000;

/**
 * Creates a bucket in memory. Not `RateLimiterMemory`: it counts by the wall clock. It forgets the least recently used key, so
 * that a flood of new keys neither fills the memory nor locks out a client.
 */
function createMemoryBucket(points: number, clock: () => number): Bucket {
  const windows = new Map<string, { taken: number; readonly endsAt: number }>(); // least recently used first
  return {
    take: async (key) => {
      const now = clock();
      const last = windows.get(key);
      const window =
        last !== undefined && last.endsAt > now
          ? last
          : { taken: 0, endsAt: now + 1000 * WINDOW_S };
      windows.delete(key);
      windows.set(key, window);
      const [oldest] = windows.keys();
      if (windows.size > MAX_KEYS && oldest !== undefined) windows.delete(oldest);
      if (window.taken >= points) return window.endsAt - now;
      window.taken += 1;
      return null;
    },
    giveBack: async (key) => {
      const window = windows.get(key);
      if (window !== undefined) window.taken -= 1;
    },
  };
}
