import { type Caller, isAsExpected, type Reply } from './caller.ts';
import type { Kind } from './shots.ts';

/** What can become of a request: answered right or wrong, lost though somebody waited, or nobody waited. */
export const COLUMNS = ['sent', 'right', 'left', 'wrong', 'lost'] as const;

type Column = (typeof COLUMNS)[number];

/** What became of requests, by kind and by code. */
export type Tally = {
  /** Of all answers; `OK` where there was none, and what happened where there was no answer. */
  readonly codes: ReadonlyMap<string, number>;
  /** The first answers that were wrong. */
  readonly examples: readonly string[];
  /** Fires a shot and counts it. */
  fire(caller: Caller, kind: Kind, number: number): Promise<void>;
  /** In the order of {@link COLUMNS}. */
  row(kind: string): readonly number[];
  total(column: Column): number;
};

const EXAMPLES = 10;
const NONE: Readonly<Record<Column, number>> = { sent: 0, right: 0, left: 0, wrong: 0, lost: 0 };

/** Starts to count. */
export function createTally(): Tally {
  const kinds = new Map<string, Record<Column, number>>();
  const codes = new Map<string, number>();
  const examples: string[] = [];
  const count = (kind: string, column: Column, example?: string) => {
    const counts = kinds.get(kind) ?? { ...NONE };
    kinds.set(kind, counts);
    counts[column] += 1;
    if (example !== undefined && examples.length < EXAMPLES) examples.push(`${kind}: ${example}`);
  };

  return {
    codes,
    examples,
    fire: async (caller, { name, aim }, number) => {
      const { fire, expected } = aim(number);
      count(name, 'sent');
      let reply: Reply | null;
      try {
        reply = await fire(caller);
      } catch (error) {
        add(codes, String(error));
        return count(name, 'lost');
      }
      if (reply === null || expected === null) return count(name, 'left');
      add(codes, reply.failure?.code ?? 'OK');
      if (isAsExpected(reply, expected)) return count(name, 'right');
      count(name, 'wrong', `${JSON.stringify(reply)} instead of ${JSON.stringify(expected)}`);
    },
    row: (kind) => COLUMNS.map((column) => kinds.get(kind)?.[column] ?? 0),
    total: (column) => kinds.values().reduce((sum, counts) => sum + counts[column], 0),
  };
}

function add(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
