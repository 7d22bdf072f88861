/** How an action ended. */
export type Outcome = 'SUCCESS' | 'FAILURE';

/** Words that begin so say that it was done, or that it was not. */
const DONE =
  /^(?:true|succe|ok$|okay$|allow|grant|permit|pass(?:ed)?$|accept|approved|complete|done$)/i;
const NOT_DONE =
  /^(?:false|unsuccess|not[ _-]?\w|fail|error|den(?:y|ied)|reject|refus|forbid|unauthori[sz]ed|block|invalid|abort)|failed$|failure$|error$/i;

/** A flag or a word, in most of the ways in which services say it; null for every other. */
export function readOutcome(value: unknown): Outcome | null {
  if (typeof value !== 'boolean' && typeof value !== 'string') return null;
  if (NOT_DONE.test(String(value))) return 'FAILURE';
  return DONE.test(String(value)) ? 'SUCCESS' : null;
}
