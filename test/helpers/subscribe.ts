import type { StreamTimers } from '../../src/gateway/tail/streams.ts';
import type { WireError } from './gateway.ts';

/** A batch of events as JSON, with what a test selected of each event. */
export type Batch<Node> = {
  readonly nodes: readonly Node[];
  readonly checkpoint: string;
  readonly previous: string | null;
  readonly missed: boolean;
  readonly hasMore: boolean;
};

/** A payload of a subscription. */
export type Payload<Node = { readonly id: string }> = {
  readonly data?: { readonly auditEvents: Batch<Node> | null } | null;
  readonly errors?: readonly WireError[];
};

/** A subscription as its client sees it. Disposing it disconnects. */
export type Subscription<Node> = AsyncDisposable & {
  readonly response: Response;
  /** The next payload; null once the stream is complete. Rejects if the stream breaks off. */
  next(): Promise<Payload<Node> | null>;
  /** The next payload, which must be a batch. */
  nextBatch(): Promise<Batch<Node>>;
  /** All that was received so far. */
  received(): string;
  /** All further payloads, once the stream is complete. */
  rest(): Promise<readonly Payload<Node>[]>;
};

/** How to subscribe. */
export type SubscribeOptions = {
  readonly token?: string | null;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly url?: string;
};

export const AUDIT_EVENTS = `subscription ($after: String, $filter: AuditFilter, $parameters: [UpstreamParameter!], $every: Int) {
  auditEvents(after: $after, filter: $filter, parameters: $parameters, every: $every) {
    nodes { id } checkpoint previous missed hasMore
  }
}`;

/** Subscribes through `fetch`, of a gateway or the global one, and reads the server-sent events. */
export async function subscribe<Node = { readonly id: string }>(
  fetcher: Fetcher,
  variables?: Readonly<Record<string, unknown>>,
  options?: SubscribeOptions,
): Promise<Subscription<Node>> {
  return readEvents(await requestEvents(fetcher, variables, options));
}

/** A gateway, or the global `fetch`. */
type Fetcher = { readonly fetch: (url: string, init: RequestInit) => Promise<Response> };

/** Subscribes through `fetch`, of a gateway or the global one. */
export function requestEvents(
  { fetch }: Fetcher,
  variables: Readonly<Record<string, unknown>> = {},
  options: SubscribeOptions = {},
): Promise<Response> {
  const { token = 't', query = AUDIT_EVENTS, headers, signal } = options;
  return fetch(options.url ?? 'http://gateway.test/graphql', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: JSON.stringify({ query, variables }),
    ...(signal && { signal }),
  });
}

/** Reads the server-sent events of a response. */
export function readEvents<Node = { readonly id: string }>(response: Response): Subscription<Node> {
  const { body } = response;
  if (body === null) throw new Error('The response has no body.');
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let received = '';
  let read = 0;
  const nextBlock = async (): Promise<string> => {
    for (;;) {
      const end = received.indexOf('\n\n', read);
      if (end >= 0) {
        const block = received.slice(read, end);
        read = end + 2;
        return block;
      }
      const { done, value } = await reader.read();
      if (done) throw new Error('The stream broke off.');
      received += decoder.decode(value, { stream: true });
    }
  };
  const next = async (): Promise<Payload<Node> | null> => {
    for (;;) {
      const block = await nextBlock();
      const [, event, data = ''] = /^event: (\w+)\ndata: ?(.*)$/.exec(block) ?? [];
      if (event === 'next') return JSON.parse(data);
      if (event === 'complete') return null;
      if (block !== ':') throw new Error(`Not an event: ${block}`);
    }
  };
  return {
    response,
    next,
    nextBatch: async () => {
      const payload = await next();
      const batch = payload?.data?.auditEvents;
      if (!batch) throw new Error(`Not a batch: ${JSON.stringify(payload)}`);
      return batch;
    },
    rest: async () => {
      const payloads: Payload<Node>[] = [];
      for (let payload = await next(); payload !== null; payload = await next())
        payloads.push(payload);
      return payloads;
    },
    received: () => received,
    [Symbol.asyncDispose]: () => reader.cancel().catch(() => {}),
  };
}

/** The pauses of a subscription, which a test ends. */
export type HeldPauses = {
  readonly pause: StreamTimers['pause'];
  /** Milliseconds of each pause so far. */
  readonly waits: readonly number[];
  /** Resolves once the subscription pauses. */
  paused(): Promise<void>;
  /** Ends the pause: the subscription polls. */
  resume(): void;
  /** Forgets the pause of a subscription that was disconnected: its end may come after the beginning of the next one. */
  forget(): void;
};

/** Holds the pauses of a subscription, one at a time. A pause whose signal is aborted ends. */
export function holdPauses(): HeldPauses {
  const waits: number[] = [];
  let begun = Promise.withResolvers<void>();
  let resume: (() => void) | null = null;
  return {
    waits,
    pause: (ms, signal) =>
      new Promise<void>((resolve) => {
        const end = () => {
          resolve();
          if (resume !== end) return;
          resume = null;
          begun = Promise.withResolvers();
        };
        resume = end;
        signal.addEventListener('abort', end, { once: true });
        waits.push(ms);
        begun.resolve();
      }),
    paused: () => begun.promise,
    resume: () => {
      if (resume === null) throw new Error('The subscription does not pause.');
      resume();
    },
    forget: () => {
      resume = null;
      begun = Promise.withResolvers();
    },
  };
}
