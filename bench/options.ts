import { parseArgs } from 'node:util';
import { LOADS, type Load } from './loads.ts';
import { PEERS, type Peer } from './peers.ts';

/** How a run goes. */
export type Options = {
  /** Also measures the memory that documents take. */
  readonly isFull: boolean;
  /** L0 is always among them, as all else is told relative to it. */
  readonly peers: readonly Peer[];
  readonly loads: readonly Load[];
  readonly rounds: number;
  /** How long a stretch is that is measured. */
  readonly seconds: number;
  /** What a warm-up takes at most. */
  readonly warmUpSeconds: number;
};

export const USAGE = `npm run bench -- [--full] [--peer a,b] [--load a,b] [--rounds n] [--seconds n]

  --full     five rounds of longer stretches, memory of documents; without it one short round
  --peer     some of ${PEERS.map(({ name }) => name).join(', ')}; l0 runs in any case
  --load     some of ${LOADS.map(({ name }) => name).join(', ')}
  --rounds   how often everything is measured
  --seconds  how long each stretch is
`;

/**
 * Reads the command line.
 * @throws TypeError whose message says what is wrong.
 */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      full: { type: 'boolean', default: false },
      peer: { type: 'string' },
      load: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
    },
  });
  const { full: isFull } = values;
  const peers = select('--peer', PEERS, values.peer);
  return {
    isFull,
    peers: PEERS.filter((peer) => peer.name === 'l0' || peers.includes(peer)),
    loads: select('--load', LOADS, values.load),
    rounds: readCount('--rounds', values.rounds) ?? (isFull ? 5 : 1),
    seconds: readCount('--seconds', values.seconds) ?? (isFull ? 8 : 2),
    warmUpSeconds: isFull ? 15 : 2,
  };
}

function select<T extends { readonly name: string }>(
  option: string,
  all: readonly T[],
  list: string | undefined,
): readonly T[] {
  if (list === undefined) return all;
  const names = list.split(',');
  const unknown = names.find((name) => !all.some((one) => one.name === name));
  if (unknown !== undefined) throw new TypeError(`${option} does not know ${unknown}.`);
  return all.filter(({ name }) => names.includes(name));
}

function readCount(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new TypeError(`${option} takes a whole number from 1.`);
}
