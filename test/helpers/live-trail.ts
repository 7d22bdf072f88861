import { gatewayOver, type Overrides, type TestGateway } from './gateway.ts';
import { type Handler, type Service, type ServiceResponse, startService } from './service.ts';
import { type HeldPauses, holdPauses } from './subscribe.ts';

/** The record with a number; its time is that number of seconds after 2026-11-24. */
export function record(number: number, members: object = {}) {
  const time = new Date(Date.UTC(2026, 10, 24) + 1000 * number).toISOString();
  return { id: `r${number}`, time, action: 'login', ...members };
}

/** Records with these numbers, newest first. */
export function records(...numbers: readonly number[]): readonly object[] {
  return numbers.map((number) => record(number));
}

/** A service with a trail that a test changes, and a gateway whose pauses a test ends. */
export type LiveTrail = AsyncDisposable & {
  readonly service: Service;
  readonly gateway: TestGateway;
  readonly pauses: HeldPauses;
  /** Replaces what the service responds with. */
  respond(next: ServiceResponse | Handler): void;
  /** Replaces the trail. */
  list(...numbers: readonly number[]): void;
  /** The poll after the current pause has ended: it resolves at the next pause. */
  poll(): Promise<void>;
};

/** Starts them, with an empty trail. */
export async function startLiveTrail(overrides: Overrides = {}): Promise<LiveTrail> {
  let response: ServiceResponse | Handler = { body: [] };
  await using stack = new AsyncDisposableStack();
  const service = stack.use(
    await startService((...request) =>
      typeof response === 'function' ? response(...request) : response,
    ),
  );
  const pauses = holdPauses();
  const gateway = stack.use(gatewayOver(service.url, { pause: pauses.pause, ...overrides }));
  const kept = stack.move();
  return {
    service,
    gateway,
    pauses,
    respond: (next) => {
      response = next;
    },
    list: (...numbers) => {
      response = { body: records(...numbers) };
    },
    poll: async () => {
      await pauses.paused();
      pauses.resume();
      await pauses.paused();
    },
    [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose](),
  };
}

/** A handler that lists records by `?page=`, from 1. */
export function paged(all: readonly object[], size: number): Handler {
  return ({ url }) => {
    const page = Number(new URL(url, 'http://service.test').searchParams.get('page') ?? 1);
    return { body: { events: all.slice((page - 1) * size, page * size), total: all.length } };
  };
}

/** The contract for {@link paged}. */
export const PAGED = { paging: { style: 'page', parameter: 'page', start: 1 } } as const;
