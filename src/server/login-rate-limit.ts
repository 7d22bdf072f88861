import { hash } from 'node:crypto';
import { once } from 'node:events';
import type { IRateLimiterOptions, RateLimiterAbstract } from 'rate-limiter-flexible';
import RateLimiterMemory from 'rate-limiter-flexible/lib/RateLimiterMemory.js';
import RateLimiterRes from 'rate-limiter-flexible/lib/RateLimiterRes.js';
import { GatewayError } from '../errors.ts';
import type { LoginRateLimitObserver } from '../observability/observer.ts';

/** How often one client, and one address, may log in. */
export type LoginRateLimitOptions = {
  /** Logins a minute for each client id, and as many for each address; 0 = no limit. */
  readonly perMinute: number;
  /** Where replicas share the count: redis:// or rediss://. Without it each counts in its own memory. */
  readonly redisUrl?: string | undefined;
  readonly observer?: LoginRateLimitObserver | undefined;
};

/** Lets logins through, or not. Disposing it closes its connection. */
export type LoginRateLimiter = AsyncDisposable & {
  /**
   * Counts a login. The address is null when it is not known: then the client id alone counts.
   * @throws GatewayError RATE_LIMITED when there were too many.
   */
  admit(clientId: string, address: string | null): Promise<void>;
};

/** How long a login waits for Redis, or for whoever counts for all, before it is counted in memory. */
const TIMEOUT_MS = 500;

/** Makes a guard. With a Redis it starts to connect, and works until then and without it all the same. */
export function createLoginRateLimiter(options: LoginRateLimitOptions): LoginRateLimiter {
  const { perMinute, redisUrl, observer } = options;
  if (perMinute === 0) {
    return { admit: async () => {}, [Symbol.asyncDispose]: async () => {} };
  }
  const own = createLoginCounter(perMinute);
  let isFallback = false;
  const setFallback = (value: boolean) => {
    if (value === isFallback) return;
    isFallback = value;
    observer?.onFallback?.(value);
  };
  const onLost = () => setFallback(true);
  const shared = redisUrl === undefined ? null : share(redisUrl, perMinute, onLost);

  const count: LoginCounter = async (keys) => {
    if (shared === null) return own(keys);
    const { redis, countThere } = await shared;
    try {
      const refusal = await countThere(keys);
      setFallback(false);
      return refusal;
    } catch {
      setFallback(true);
      // So that the next logins need not wait for one that hangs: without a connection none waits.
      if (redis.status === 'ready') redis.disconnect(true);
      return own(keys);
    }
  };

  return {
    admit: async (clientId, address) => {
      const refusal = await count({
        client: toKey(clientId),
        address: address === null ? null : toKey(address),
      });
      if (refusal === null) return;
      observer?.onRefused?.(refusal.by);
      throw new GatewayError('RATE_LIMITED', {
        message: MESSAGES[refusal.by],
        reason: 'LOGIN_LIMIT',
        retryAfterSeconds: Math.max(1, Math.ceil(refusal.waitMs / 1000)),
      });
    },
    [Symbol.asyncDispose]: async () => {
      if (shared === null) return;
      const { redis } = await shared;
      redis.off('close', onLost);
      redis.disconnect();
    },
  };
}

const MESSAGES = {
  client:
    'Too many logins of this client: use the access token of the last one, or wait `retryAfterSeconds`, then log in again. Nothing was sent.',
  address:
    'Too many logins from this address: use the access token of the last one, or wait `retryAfterSeconds`, then log in again. Nothing was sent.',
} as const;

/** A digest, since a Redis has other readers; and since it is short, however long an id is made. */
function toKey(text: string): string {
  return hash('sha256', text, 'base64url');
}

/** Resolves when Redis is there, or soon without it; it goes on trying to connect. */
async function share(url: string, perMinute: number, onLost: () => void) {
  const { Redis } = await import('ioredis');
  const { default: RateLimiterRedis } = await import(
    'rate-limiter-flexible/lib/RateLimiterRedis.js'
  );
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false, // a login that was counted in memory meanwhile
    maxRetriesPerRequest: 0,
    commandTimeout: TIMEOUT_MS,
    disconnectTimeout: TIMEOUT_MS,
  });
  redis.on('error', () => {}); // it always closes then
  redis.on('close', onLost);
  const countThere = createLoginCounter(
    perMinute,
    (options) =>
      new RateLimiterRedis({ ...options, storeClient: redis, rejectIfRedisNotReady: true }),
  );
  await once(redis, 'ready', { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(() => {});
  return { redis, countThere };
}

/** What a login counts by, each a short text that tells nobody's id or address; without an address the client alone. */
export type LoginKeys = { readonly client: string; readonly address: string | null };

/** Who logged in too often, and for how many milliseconds that holds. */
export type Refusal = { readonly by: 'client' | 'address'; readonly waitMs: number };

/** Counts a login: null when it is within the limit. Rejects when it cannot count. */
export type LoginCounter = (keys: LoginKeys) => Promise<Refusal | null>;

const KEY_PREFIX = 'keytrail:login';
const WINDOW_SECONDS = 60;
/** Of each bucket in memory: about 10 MB for both. */
const MAX_KEYS = 10_000;

/** Counts in the memory of this process, unless told where. */
export function createLoginCounter(
  perMinute: number,
  create: (options: IRateLimiterOptions) => RateLimiterAbstract = (options) =>
    new BoundedMemory(options),
): LoginCounter {
  const createFor = (name: keyof Buckets) =>
    create({ keyPrefix: `${KEY_PREFIX}:${name}`, points: perMinute, duration: WINDOW_SECONDS });
  const buckets = { client: createFor('client'), address: createFor('address') };
  return (keys) => take(buckets, keys);
}

type Buckets = Readonly<Record<Refusal['by'], RateLimiterAbstract>>;

/**
 * The address comes first, so that who tries many ids from one address uses up nobody else's. Whoever is refused gives
 * back what he took: a client that goes on trying does not use up the address that it shares with others.
 */
async function take(buckets: Buckets, { client, address }: LoginKeys): Promise<Refusal | null> {
  if (address !== null) {
    const waitMs = await takeOne(buckets.address, address);
    if (waitMs !== null) return { by: 'address', waitMs };
  }
  const waitMs = await takeOne(buckets.client, client);
  if (waitMs === null) return null;
  if (address !== null) await buckets.address.reward(address);
  return { by: 'client', waitMs };
}

/** Milliseconds to wait, or null when there was one left. */
async function takeOne(bucket: RateLimiterAbstract, key: string): Promise<number | null> {
  try {
    await bucket.consume(key);
    return null;
  } catch (refused) {
    if (!(refused instanceof RateLimiterRes)) throw refused;
    await bucket.reward(key);
    return refused.msBeforeNext;
  }
}

/** Forgets the key that was not asked for longest when there are too many: a flood can shut nobody out. */
class BoundedMemory extends RateLimiterMemory {
  readonly #keys = new Set<string>();

  override consume(...[key, ...rest]: Parameters<RateLimiterMemory['consume']>) {
    const name = String(key);
    this.#keys.delete(name);
    this.#keys.add(name);
    const [oldest] = this.#keys;
    if (this.#keys.size > MAX_KEYS && oldest !== undefined) {
      this.#keys.delete(oldest);
      void this.delete(oldest);
    }
    return super.consume(key, ...rest);
  }
}
