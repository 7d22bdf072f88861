import type { ExplainedEntry, Explanation } from '../client/explanation.ts';
import { escapeUnprintable } from '../util/escape-unprintable.ts';
import { wrap } from '../util/wrap.ts';

const NONE =
  'There is no explanation: EXPLAIN of the gateway is off, as it is in production by default.\n';

/** Formats where each field of the events was found, and why one is null: a line each, for a terminal of 100 columns. */
export function formatExplanation(explanation: Explanation | undefined): string {
  const { event } = explanation?.mapping ?? {};
  if (event === undefined) return NONE;
  const { actor, target, ...fields } = event;
  const rows = [
    ...Object.entries(fields),
    ...Object.entries(actor).map(([name, entry]) => [`actor.${name}`, entry] as const),
    ...Object.entries(target).map(([name, entry]) => [`target.${name}`, entry] as const),
  ];
  return rows.map(([name, entry]) => `${formatEntry(name, entry).join('\n')}\n`).join('');
}

function formatEntry(name: string, entry: ExplainedEntry): readonly string[] {
  const { at, found, by, confidence, why } = entry;
  const places = [at ?? []].flat().map((place) => (typeof place === 'string' ? place : 'a header'));
  const facts = [by, confidence === undefined ? '' : `(${confidence})`, found, why];
  const place = places.join(', ') || '-';
  const line = `${name.padEnd(18)} ${place.padEnd(24)} ${facts.filter(Boolean).join(' ')}`;
  return wrap(escapeUnprintable(line), ' '.repeat(44));
}
