import type { Client } from './client.ts';
import { RECORDS } from './service.ts';

/** A client of `auditEvents`, which checks every payload. */
export type Stream = {
  /** Settles once the first payload has arrived, or the stream has failed. */
  readonly opened: Promise<void>;
  /** How many events it has received, each once and in order. */
  readonly received: () => number;
  /** What was wrong. */
  readonly problems: readonly string[];
  /** Disconnects. Resolves once the stream has ended. */
  readonly close: () => Promise<void>;
};

const SUBSCRIPTION = JSON.stringify({
  query: 'subscription { auditEvents(every: 5) { nodes { id } checkpoint previous missed } }',
});

/** Opens a stream of the events that are added to the service from now on. The number is in its token and in its events. */
export function openStream(client: Client, number: number): Stream {
  const id = `tail.${number}`;
  const stop = new AbortController();
  const problems: string[] = [];
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  let received = 0;
  let checkpoint: string | null = null;

  const check = (text: string) => {
    const { data, errors } = JSON.parse(text);
    const { nodes = [], missed, previous, ...batch } = data?.auditEvents ?? {};
    if (errors !== undefined || missed || previous !== checkpoint) problems.push(`${id}: ${text}`);
    for (const node of nodes) {
      const expected = `${id}.${RECORDS + received}`;
      if (node.id !== expected) problems.push(`${id}: ${node.id} instead of ${expected}`);
      received += 1;
    }
    checkpoint = batch.checkpoint;
    open();
  };
  const read = async () => {
    const headers = [
      ...['accept', 'text/event-stream', 'content-type', 'application/json'],
      ...['authorization', `Bearer ${id}`],
    ];
    const { body } = await client.send({ id, body: SUBSCRIPTION, headers }, stop.signal);
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of body) {
      const events = `${text}${decoder.decode(chunk, { stream: true })}`.split('\n\n');
      text = events.pop() ?? '';
      for (const event of events) {
        const data = /^event: next\ndata: (.*)$/.exec(event)?.[1];
        if (data !== undefined) check(data);
        else if (event !== ':') problems.push(`${id}: ${event}`);
      }
    }
    throw new Error('it ended');
  };
  const reading = read().catch((error: unknown) => {
    if (!stop.signal.aborted) problems.push(`${id}: ${error}`);
    open();
  });
  return {
    opened,
    received: () => received,
    problems,
    close: () => {
      stop.abort();
      return reading;
    },
  };
}
