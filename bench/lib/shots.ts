import type { Caller, Expected, Reply } from './caller.ts';
import { ASK, type Ask } from './questions.ts';

/** One request, and what must come of it. */
export type Shot = {
  /** Gives what came back; null for those who did not wait for it. */
  fire(caller: Caller): Promise<Reply | null>;
  /** Null when nobody waits. */
  readonly expected: Expected | null;
};

/** A kind of request; each is made of a number of its own. */
export type Kind = { readonly name: string; readonly aim: (number: number) => Shot };

/** Operations that all goes well with. */
export const GOOD: readonly Kind[] = Object.entries(ASK).map(([name, ask]) => ({
  name,
  aim: (number) => served(ask, `well.${number}`),
}));

/** A request that is answered with what was asked for. */
export function served(ask: Ask, tag: string): Shot {
  const question = ask(tag);
  return { fire: ({ post }) => post(question), expected: { data: question.data } };
}

/** A request of an operation that was carried out and failed. */
export function failed(ask: Ask, tag: string, code: string, reason?: string): Shot {
  const question = ask(tag);
  const data = { [question.field]: null };
  return {
    fire: ({ post }) => post(question),
    expected: { data, code, ...(reason !== undefined && { reason }) },
  };
}

/** Any of some things, each as often. */
export function pick<T>(things: readonly T[]): T {
  const thing = things[Math.floor(Math.random() * things.length)];
  if (thing === undefined) throw new Error('There is nothing to pick from.');
  return thing;
}
