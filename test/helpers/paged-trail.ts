import { type Handler, type Service, startService } from './service.ts';

/** Order of a list. */
export type Order = 'newest-first' | 'oldest-first';

/** A service whose trail has pages with links, and grows. */
export type PagedTrail = Service & {
  /** Adds events. */
  add(count: number): void;
  /** Responds to the next requests by this, until it returns undefined. */
  intercept(handler: Handler): void;
  /** IDs of all events. */
  ids(): readonly string[];
};

/** An event of the trail: one per second of 2026. */
export function trailEvent(number: number) {
  return {
    ...{ id: `e${number}`, at: new Date(Date.UTC(2026, 0, 1) + 1000 * number).toISOString() },
    ...{ action: 'key.rotate', outcome: 'success', ip: '203.0.113.9' },
    actor: { id: `user-${number % 50}`, type: 'user' },
    target: { id: `key-${number % 7}`, type: 'api_key' },
  };
}

/** Starts a service with a number of events, on pages of 100 by default. */
export async function startPagedTrail(
  order: Order,
  count: number,
  toEvent: (number: number) => object = trailEvent,
  size = 100,
): Promise<PagedTrail> {
  let total = count;
  let own: Handler = () => undefined;
  const service = await startService(async (seen, response, request) => {
    const intercepted = await own(seen, response, request);
    if (intercepted !== undefined || response.headersSent || response.destroyed) return intercepted;
    const page = Number(new URL(seen.url, 'http://service.test').searchParams.get('page') ?? 1);
    const from = (page - 1) * size;
    const length = Math.max(0, Math.min(size, total - from));
    const events = Array.from({ length }, (_, index) =>
      toEvent(order === 'newest-first' ? total - from - index : from + index + 1),
    );
    const next = from + size < total ? `/api/v1/audit?page=${page + 1}` : null;
    return { body: { events, next, total } };
  });
  return {
    ...service,
    add: (more) => {
      total += more;
    },
    intercept: (handler) => {
      own = handler;
    },
    ids: () => Array.from({ length: total }, (_, index) => `e${index + 1}`),
  };
}
