import { DONE, FAILING, LATER, MAY_BE } from './verdict-words.ts';

/**
 * What a sentence says of a request. The first piece that says something decides: "Deleted. This cannot be undone." is
 * done. Text that no rule understands is UNKNOWN, in any language.
 */
export function readSentence(text: string): 'DONE' | 'FAILED' | 'LATER' | 'UNKNOWN' {
  for (const piece of text.replace(QUOTED, '""').split(/[.;!]+(?=\s|$)/)) {
    if (FAILING.test(piece)) return 'FAILED';
    if (LATER.test(piece)) return 'LATER';
    if (DONE.test(piece) && !MAY_BE.test(piece)) return 'DONE';
  }
  return 'UNKNOWN';
}

/** A quoted part of a sentence is a name. */
const QUOTED = /"[^"]*"|`[^`]*`|(?<=^|\s)['‘][^'’]*['’](?=$|[\s.,])/g;
