import type { IRateLimiterOptions, RateLimiterAbstract } from 'rate-limiter-flexible';
import RateLimiterMemory from 'rate-limiter-flexible/lib/RateLimiterMemory.js';
import RateLimiterRes from 'rate-limiter-flexible/lib/RateLimiterRes.js';

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
