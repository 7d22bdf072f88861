import type { Channel } from './host.ts';

/** What a process can be asked, by name. Questions and answers are what JSON can carry. */
type Calls = Readonly<Record<string, (question: never) => unknown>>;

/** Asks another process. The promise stays open when that is gone. */
export type Ask<Theirs extends Calls> = <Name extends keyof Theirs & string>(
  name: Name,
  ...question: Parameters<Theirs[Name]>
) => Promise<Awaited<ReturnType<Theirs[Name]>>>;

type Message = {
  readonly id: number;
  /** Of a question; an answer has none. */
  readonly name?: string;
  readonly content?: never;
};

/** Answers what the other process asks, and asks it. Both ends must be of one version of this program. */
export function connect<Theirs extends Calls>(channel: Channel, ours: Calls): Ask<Theirs> {
  const waiting = new Map<number, (answer: never) => void>();
  let asked = 0;
  channel.onMessage(async (message) => {
    const { id, name, content } = message as Message; // `ask` of the other end made it
    if (name !== undefined) {
      channel.send({ id, content: await ours[name]?.(content as never) });
    } else {
      waiting.get(id)?.(content as never);
      waiting.delete(id);
    }
  });
  return (name, ...[content]) =>
    new Promise((resolve) => {
      asked += 1;
      waiting.set(asked, resolve);
      channel.send({ id: asked, name, content });
    });
}
