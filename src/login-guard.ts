import { hash } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { GatewayError } from './errors.ts';
import { createLoginCounter, type LoginCounter } from './login-counter.ts';

/** How often one client, and one address, may log in. */
export type LoginGuardOptions = {
  /** Logins a minute for each client id, and as many for each address; 0 = no limit. */
  readonly perMinute: number;
  /** Where replicas share the count: redis:// or rediss://. Without it each counts in its own memory. */
  readonly redisUrl?: string | undefined;
  /** Counts for several guards, also while Redis is lost. Without it, and while it does not answer, this one counts by itself. */
  readonly countTogether?: LoginCounter | undefined;
  readonly observer?: LoginObserver | undefined;
};

/** Is told what the guard does; of nobody's id or address. */
export type LoginObserver = {
  onRefused?(by: 'client' | 'address'): void;
  /** Called on each change only: true when Redis is lost or slow and the count is in memory, false when it is shared again. */
  onFallback?(isFallback: boolean): void;
};

/** Lets logins through, or not. Disposing it closes its connection. */
export type LoginGuard = AsyncDisposable & {
  /**
   * Counts a login. The address is null when it is not known: then the client id alone counts.
   * @throws GatewayError RATE_LIMITED when there were too many.
   */
  admit(clientId: string, address: string | null): Promise<void>;
};

/** How long a login waits for Redis, or for whoever counts for all, before it is counted in memory. */
const TIMEOUT_MS = 500;

/** Makes a guard. With a Redis it starts to connect, and works until then and without it all the same. */
export function createLoginGuard(options: LoginGuardOptions): LoginGuard {
  const { perMinute, redisUrl, countTogether, observer } = options;
  if (perMinute === 0) {
    return { admit: async () => {}, [Symbol.asyncDispose]: async () => {} };
  }
  const alone = createLoginCounter(perMinute);
  const own = countTogether === undefined ? alone : orAlone(countTogether, alone);
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

function orAlone(together: LoginCounter, alone: LoginCounter): LoginCounter {
  return async (keys) => {
    const late = wait(TIMEOUT_MS, undefined, { ref: false });
    const refusal = await Promise.race([together(keys), late]);
    return refusal === undefined ? alone(keys) : refusal;
  };
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
