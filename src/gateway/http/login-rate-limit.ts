import { once } from 'node:events';
import { GatewayError } from '../../errors.ts';
import { digest } from '../../util/digest.ts';
import type { LoginAttempt } from '../../util/request-client.ts';
import type { LoginLimit, LoginRateLimitObserver } from '../observability/observer.ts';

/** The limits on logins, and where replicas share the count. */
export type LoginRateLimitOptions = {
  /** Logins per minute of each client ID from each network. The other limits are multiples of it. 0 = no limit. */
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
   * Counts a login; by client ID alone if the address is null. Resolves to a function to call if the service accepts
   * the login: for a day, the limit of the client ID then does not apply to its network.
   * @throws GatewayError RATE_LIMITED if a limit is exceeded.
   */
  admit(attempt: LoginAttempt): Promise<() => Promise<void>>;
};

/** Counts by key. */
type Bucket = {
  /** Takes a point. Resolves to null, or to the milliseconds to wait if none is left. Rejects if it cannot count. */
  take(key: string): Promise<number | null>;
  /** Gives a point back. */
  giveBack(key: string): Promise<unknown>;
};

/** A row of {@link LIMITS} with its counters. */
type Limit = Omit<(typeof LIMITS)[number], 'times'> & { readonly bucket: Bucket };

/** The limits in the order of their checks, and the networks from which clients have logged in. */
type Store = {
  readonly limits: readonly Limit[];
  /** Whether a key was remembered within {@link DAY_S}. Rejects if that is not known. */
  isKnown(key: string): Promise<boolean>;
  /** Rejects if it cannot. */
  remember(key: string): Promise<unknown>;
};

/**
 * Each with its multiple of the setting. In this order, so that a network that has used up its own limit uses up none
 * of a client ID.
 */
const LIMITS = [
  {
    by: 'address',
    times: 3,
    message:
      'Too many logins from this IP address: use the access token of the last login, or wait `retryAfterSeconds`, then retry. Nothing was sent.',
  },
  {
    by: 'pair',
    times: 1,
    message:
      'Too many logins of this client from this IP address: use the access token of its last login, or wait `retryAfterSeconds`, then retry. Nothing was sent.',
  },
  {
    by: 'client',
    times: 10,
    message:
      'Too many logins of this client: use the access token of its last login, log in from an IP address from which it did so within a day, or wait `retryAfterSeconds`, then retry. Nothing was sent.',
  },
] as const satisfies readonly { readonly by: LoginLimit; times: number; message: string }[];

/** The points are for this time. */
const WINDOW_S = 60;

/** How long a network is exempt from the limit of a client ID after a login. */
const DAY_S = 86_400;

/** How long a login waits for Redis before it is counted in memory. */
const TIMEOUT_MS = 500;

/** Creates a login rate limiter. With Redis it connects in the background, and counts in memory while Redis is away. */
export function createLoginRateLimiter(options: LoginRateLimitOptions): LoginRateLimiter {
  const { perMinute, redisUrl, observer, clock } = options;
  if (perMinute === 0) {
    return { admit: async () => async () => {}, [Symbol.asyncDispose]: async () => {} };
  }
  const memory = createMemoryStore(perMinute, clock);
  let isFallback = false;
  const setFallback = (value: boolean) => {
    if (value === isFallback) return;
    isFallback = value;
    observer?.onFallback?.(value);
  };
  const onClose = () => setFallback(true);
  const shared = redisUrl === undefined ? null : connectRedis(redisUrl, perMinute, onClose);

  const withStore = async <Result>(use: (store: Store) => Promise<Result>): Promise<Result> => {
    if (shared === null) return use(memory);
    const { reconnect, store } = await shared;
    try {
      const result = await use(store);
      setFallback(false);
      return result;
    } catch {
      setFallback(true);
      // So that the next logins do not wait for a Redis that hangs: without a connection they fail fast.
      reconnect();
      return use(memory);
    }
  };

  return {
    admit: async ({ clientId, isRefresh, address }) => {
      const id = foldSpelling(clientId);
      const kind = isRefresh ? 'refreshToken' : 'clientSecret'; // a flood of wrong secrets does not stop renewals
      const network = address === null ? null : keyOf(address, id);
      const rejection = await withStore(async (store) => {
        const isKnown =
          network !== null && ((await memory.isKnown(network)) || (await store.isKnown(network)));
        return takeAll(store.limits, {
          ...(address !== null && {
            address: keyOf(kind, address),
            pair: keyOf(kind, address, id),
          }),
          ...(!isKnown && { client: keyOf(kind, id) }),
        });
      });
      if (rejection !== null) {
        observer?.onRefused?.(rejection.by);
        throw new GatewayError('RATE_LIMITED', {
          message: rejection.message,
          reason: 'LOGIN_LIMIT',
          // Redis counts by the clock of its machine: after a jump back, its keys expire late.
          retryAfterSeconds: Math.min(Math.max(1, Math.ceil(rejection.waitMs / 1000)), WINDOW_S),
        });
      }
      return async () => {
        if (network === null) return;
        await memory.remember(network); // with Redis too: it may go away, or come back empty
        await withStore(({ remember }) => remember(network));
      };
    },
    [Symbol.asyncDispose]: async () => {
      if (shared === null) return;
      const { redis } = await shared;
      redis.off('close', onClose);
      redis.disconnect();
    },
  };
}

/** A digest: other applications may read the same Redis, and it is short, however long the client ID is. */
function keyOf(...parts: readonly string[]): string {
  return digest(JSON.stringify(parts));
}

/**
 * Takes a point of each limit that has a key. Resolves to null, or to the limit that is exceeded. The points of the
 * others are then given back: other logins share them.
 */
async function takeAll(
  limits: readonly Limit[],
  keys: Readonly<Partial<Record<LoginLimit, string>>>,
): Promise<(Limit & { readonly waitMs: number }) | null> {
  const undo: (() => Promise<unknown>)[] = [];
  for (const limit of limits) {
    const { by, bucket } = limit;
    const key = keys[by];
    if (key === undefined) continue;
    const waitMs = await bucket.take(key);
    if (waitMs !== null) {
      await Promise.all(undo.map((giveBack) => giveBack()));
      return { ...limit, waitMs };
    }
    undo.push(() => bucket.giveBack(key));
  }
  return null;
}

function createLimits(
  perMinute: number,
  create: (points: number, by: LoginLimit) => Bucket,
): readonly Limit[] {
  return LIMITS.map(({ times, ...limit }) => ({
    ...limit,
    bucket: create(times * perMinute, limit.by),
  }));
}

/** Of a longer client ID the beginning counts: NFKC takes half a second for 32,000 combining marks. */
const MAX_ID_LENGTH = 1000;

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * The same text for all spellings of a client ID that a service may read as one: in any case, width and Unicode form,
 * with white space around it, with invisible characters. Lower, then upper case: `ß`, `ẞ` and `ss` become `SS`.
 */
function foldSpelling(clientId: string): string {
  const visible = clientId.replace(INVISIBLE, '').trim().slice(0, MAX_ID_LENGTH);
  return visible.normalize('NFKC').toLowerCase().toUpperCase().normalize('NFKC').trim();
}

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
  const limits = createLimits(perMinute, (points, by): Bucket => {
    const limiter = new RateLimiterRedis({
      keyPrefix: `keytrail:login:${by}`,
      points,
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
  const store: Store = {
    limits,
    isKnown: async (key) => (await redis.exists(`keytrail:login:known:${key}`)) === 1,
    remember: (key) => redis.set(`keytrail:login:known:${key}`, '', 'EX', DAY_S),
  };
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
  return { redis, reconnect, store };
}

/** For each limit, and for the networks of a day; about 8 MB for all. */
const MAX_KEYS = 10_000;

/** Sets a key of a map, and deletes the key that was set least recently if there are too many. */
function setNewest<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MAX_KEYS && oldest !== undefined) map.delete(oldest);
}

function createMemoryStore(perMinute: number, clock: () => number): Store {
  const knownUntil = new Map<string, number>();
  return {
    limits: createLimits(perMinute, (points) => createMemoryBucket(points, clock)),
    isKnown: async (key) => (knownUntil.get(key) ?? 0) > clock(),
    remember: async (key) => setNewest(knownUntil, key, clock() + 1000 * DAY_S),
  };
}

/**
 * Creates a bucket in memory. Not `RateLimiterMemory`: it counts by the wall clock. It forgets the least recently used key, so
 * that a flood of new keys neither fills the memory nor locks out a client.
 */
function createMemoryBucket(points: number, clock: () => number): Bucket {
  const windows = new Map<string, { taken: number; readonly endsAt: number }>();
  return {
    take: async (key) => {
      const now = clock();
      const last = windows.get(key);
      const window =
        last !== undefined && last.endsAt > now
          ? last
          : { taken: 0, endsAt: now + 1000 * WINDOW_S };
      setNewest(windows, key, window);
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
