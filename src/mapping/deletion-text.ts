import { parseOutcome } from './values.ts';

/** Longer texts are cut. */
const MAX_LENGTH = 1000;

/** Verbs of a deletion, in any form. */
const VERBS = '(?:delet|remov|destroy|purg|eras|revok|invalidat|deactivat|disabl)';

/** Words that end the clause of a negation: `no errors`, `cannot be used once deleted`. */
const CLAUSE_END =
  'errors?|fail\\w*|problems?|issues?|longer|once|when|after|if|because|until|before|and|but|or|so';

/** Says that nothing was deleted: `could not be deleted`, `0 rows affected`, `DELETE 0`. */
const UNDONE = new RegExp(
  [
    `(?:\\b(?:not|cannot|unable|fail\\w*|refus\\w+|never)|n['’]t)\\b(?: (?!(?:${CLAUSE_END}|was|were|is|are)\\b)[\\w()'’-]+){0,4}? ${VERBS}\\w*`,
    `\\b(?:nothing|none|no|zero|0)\\b(?: (?!(?:${CLAUSE_END})\\b)[\\w()'’-]+){0,4}? (?:${VERBS}|affected|changed|modified|matched)`,
    `\\b(?:${VERBS}\\w*|affected)(?: (?:rows?|keys?|records?|documents?|items?|count))?(?: ?[:=] ?| )(?:(?:0|zero|none|nothing)\\b(?![.,]\\d)|no (?:rows?|keys?|records?|documents?|items?)\\b)`,
  ].join('|'),
  'gi',
);

/** Says that it was deleted, if no negation is before it. `to be deleted` does not. */
const DONE = new RegExp(`(?<!\\bbe )\\b${VERBS}e?d\\b`, 'i');

/** Says that it is to be deleted later. */
const PENDING =
  /\b(?:scheduled|marked|queued|pending|submitted) for (?:deletion|removal)\b|\bwill be (?:deleted|removed|revoked)\b|\bdeletion (?:\w+ ){0,2}?(?:scheduled|queued|started|requested|initiated|in progress)\b/i;

/** Says that there is no such key, or no more. */
const THING =
  '(?:api ?key|key|client|secret|credential|token|resource|record|item|id|user|entity|object|document)';
const NOT_FOUND = new RegExp(
  [
    `\\b(?:already|previously|or)(?: \\w+){0,3}? ${VERBS}e?d\\b`,
    "\\bnot ?(?:be |been )?found\\b|\\bno such\\b|(?:\\bnot|n['’]t) exist|\\bnon-?exist",
    `\\bunknown (?:\\w+ ){0,2}${THING}\\b|\\b${THING} unknown\\b`,
    `\\bno (?:\\w+ ){0,3}?${THING}s?\\b(?: \\w+){0,3}? (?:found|exists?|match\\w*)\\b`,
    "(?:\\b(?:not|cannot|unable to|failed to)|n['’]t) (?:find|locate)\\b",
  ].join('|'),
  'i',
);

/** Refuses the request, whatever exists. */
const DENIED =
  /\b(?:permission|access) (?:is )?denied\b|(?:n['’]t|\b(?:not|no|lacks?|insufficient|missing))(?: \w+)? (?:permissions?|privileges?|rights)\b|\b(?:forbidden|unauthori[sz]ed|unauthenticated)\b|\bnot authori[sz]ed\b|\binvalid (?:client|token|grant)\b/i;

/** Reports another failure. */
const FAILED =
  /\bwent wrong\b|\btry again\b|\bnot (?:allowed|permitted|supported|implemented|possible|eligible|affected|changed|modified|successful)\b|\berrors? occurr|\bnothing to (?:delete|remove|revoke|do)\b|\bun(?:affected|changed|modified|supported|successful)\b|\bno-?op\b|\bno changes?\b|\b(?:is|are) (?:protected|locked|read.only|in use)\b|\b(?:confirm\w*|approval) required\b|^error\b(?!s? ?:? ?(?:none|0|no|null|false)\b)/i;

/** A word or a code that reports a failure, in words; and one that says that there is no such key. */
const FAILED_CODE =
  /^(?:skipped|ignored|partial\w*|aborted|conflict|protected|rejected|timed? ?out|unknown|nothing|ko|nok|ng|err|failed?.*)(?: success| failure)?$|(?:exception|error|fault)$/i;
const NOT_FOUND_CODE =
  /(?:^| )(?:\w*not ?found|no such \w+|(?:not|non) ?exist\w*|missing|unknown (?:key|client|id|resource))(?: (?:exception|error|fault|failure))?$/i;

/** What a text says of a deletion: that there is no such key, that it failed for another reason, or that it is to come. */
export type TextFinding = 'NOT_FOUND' | 'FAILURE' | 'PENDING';

/** Reads a text or a code about a deletion; null if it says nothing of it, or that it was done. A quoted part is a name. */
export function readText(given: string): TextFinding | null {
  const text = given.slice(0, MAX_LENGTH).trim();
  if (/\s/.test(text))
    return readProse(text.replace(/"[^"]*"|`[^`]*`|(?<=^|\s)['‘][^'’]*['’](?=$|[\s.,])/g, '""'));
  const code = toWords(text);
  if (NOT_FOUND_CODE.test(code)) return 'NOT_FOUND';
  return FAILED_CODE.test(code) ? 'FAILURE' : readProse(code);
}

/** A name or a code in words: `not found` for `NOT_FOUND`, `not-found` and `notFound`. */
export function toWords(code: string): string {
  return code
    .slice(0, MAX_LENGTH)
    .replace(/[\s_-]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, ' ')
    .toLowerCase();
}

function readProse(text: string): TextFinding | null {
  const rest = text.replace(UNDONE, (match) => ' '.repeat(match.length));
  const [done, notFound] = [rest.search(DONE), text.search(NOT_FOUND)];
  if (notFound >= 0 && (done < 0 || done > notFound))
    return DENIED.test(text) ? 'FAILURE' : 'NOT_FOUND';
  if (rest !== text) return 'FAILURE';
  if (done >= 0) return null;
  if (DENIED.test(text) || FAILED.test(text) || parseOutcome(text) === 'FAILURE') return 'FAILURE';
  return PENDING.test(text) ? 'PENDING' : null;
}
