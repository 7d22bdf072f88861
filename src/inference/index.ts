import type {
  AuditContract,
  Contract,
  DeepPartial,
  LazyContract,
  PagingContract,
} from '../mapping/contract.ts';
import { INSTANT_FORMATS, parseTime } from '../mapping/time.ts';
import { isObject } from '../mapping/tokenize-key.ts';
import { recordsAt, SAMPLE_SIZE } from '../mapping/trail.ts';
import type { UpstreamResponse } from '../upstream/types.ts';
import { lazy, memoize } from '../util/memoize.ts';
import { inferEvent, inferEventLazily } from './event.ts';
import { fillGaps } from './fill-gaps.ts';
import { inferLogin } from './login.ts';
import { inferPagination, inferTotal, profileEnvelope } from './pagination.ts';
import { parseKey, profileFields } from './profile.ts';
import { RECORDS } from './vocabulary.ts';

/** Looks at an answer and says where things are; the same answer always gives the same contract. */
export function inferContract(answer: UpstreamResponse): Contract {
  const audit = completeAudit(answer);
  const records = recordsAt(audit.records, answer.body) ?? [];
  const event = inferEvent(records.slice(0, SAMPLE_SIZE));
  const around = { total: audit.total(), paging: audit.paging() };
  return { login: inferLogin(answer), audit: { ...audit, ...around, event } };
}

/** A contract of the trail without gaps: what is not configured is told from the answer. */
export function completeAudit(
  answer: UpstreamResponse,
  configured?: DeepPartial<AuditContract>,
): LazyContract {
  const { body } = answer;
  const records = configured?.records === undefined ? inferRecords(body) : configured.records;
  const list = recordsAt(records, body) ?? [];
  const { length } = list; // of a trail that is done with the list is emptied
  const around = lazy(() => (records === '' ? [] : profileEnvelope(body, records)));
  const { total, paging, event, parameters } = configured ?? {};
  return {
    records,
    total: () => (total === undefined ? inferTotal(around(), answer, length) : total),
    paging: () =>
      fillGaps<PagingContract>(paging, inferPagination(around(), answer, length, paging)),
    parameters: fillGaps<LazyContract['parameters']>(parameters, NO_PARAMETERS),
    event: fillGaps<LazyContract['event']>(event, inferEventLazily(list.slice(0, SAMPLE_SIZE))),
  };
}

const NO_PARAMETERS = { since: null, until: null, actor: null, action: null };

/** A part of an answer that may hold the records. */
type Part = {
  readonly pointer: string;
  readonly words: string;
  readonly depth: number;
  readonly value: unknown;
};

const MAX_DEPTH = 3;

/** The records stand beside a few other members, not beside thousands. */
const MAX_MEMBERS = 500;

/** All together, those that stand less deep first. */
const MAX_PARTS = 5000;

/**
 * The shallowest list of objects that hold times; where none does, or only one whose name says nothing, a name that
 * says records, then a usual one, then the only list there is; then an object of numbered records. Else null.
 */
function inferRecords(body: unknown): string | null {
  const parts = partsOf(body);
  const lists = parts.filter(isList);
  const [best = parts.find(isNumbered)] = lists.length === 1 ? lists : rank(lists);
  return best?.pointer ?? null;
}

/** The lists of an answer that may be its records, the best first; none is of a better tier than 0. */
export function rankLists(body: unknown): readonly (Part & { readonly tier: number })[] {
  return rank(partsOf(body).filter(isList));
}

function rank(lists: readonly Part[]): ReturnType<typeof rankLists> {
  const filled = lists.filter(({ value }) => itemsOf(value).length > 0);
  const isOnly = (list: Part) => (filled.length > 0 ? filled : lists).every((one) => one === list);
  const tierOf = (list: Part): number => {
    const { isSure, isUsual } = kindOf(list.words);
    const isNamed = isSure || list.pointer === '';
    if (hasTimes(itemsOf(list.value))) return isNamed || isUsual ? 0 : 2;
    if (isNamed) return 1;
    if (isUsual) return 3;
    return isOnly(list) ? 4 : 5;
  };
  return lists
    .map((list) => ({ ...list, tier: tierOf(list) }))
    .filter(({ tier }) => tier < 5)
    .sort((a, b) => a.tier - b.tier || a.depth - b.depth);
}

/** An answer and its members, down to three names deep; lists are not entered. */
function partsOf(body: unknown): readonly Part[] {
  const parts: Part[] = [{ pointer: '', words: '', depth: 0, value: body }];
  // It grows while it is walked.
  for (const { pointer, depth, value } of parts) {
    if (depth === MAX_DEPTH || !isObject(value)) continue;
    for (const name of Object.keys(value).slice(0, MAX_MEMBERS)) {
      if (parts.length === MAX_PARTS) return parts;
      const { token, words } = parseKey(name);
      parts.push({ pointer: `${pointer}/${token}`, words, depth: depth + 1, value: value[name] });
    }
  }
  return parts;
}

/** A list of objects, as far as its first items tell; under a name that says records or is in the plural null too, with which some services mean the empty list. */
function isList({ value, words, pointer }: Part): boolean {
  if (pointer === '') return Array.isArray(value);
  const { isSure, isUsual, isOther } = kindOf(words);
  if (isOther) return false;
  const isPlural = isSure || (isUsual && /s$/i.test(pointer));
  return Array.isArray(value)
    ? value.slice(0, SAMPLE_SIZE).every(isObject)
    : value === null && isPlural;
}

const kindOf = memoize((words) => ({
  isSure: RECORDS.sure.test(words),
  isUsual: RECORDS.usual.test(words),
  isOther: RECORDS.other.test(words),
}));

function isNumbered({ value }: Part): boolean {
  if (!isObject(value) || !Object.keys(value).every((name) => /\d/.test(name))) return false;
  const items = Object.values(value);
  return items.every(isObject) && hasTimes(items);
}

function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Whether one of the first holds a time, be it one that cannot be read without being told how. */
function hasTimes(items: readonly unknown[]): boolean {
  let isFound = false;
  const stopWhen = (value: unknown, path: string) => {
    isFound = isTime(value, path);
    return isFound;
  };
  profileFields(items.slice(0, 5), { stopWhen });
  return isFound;
}

function isTime(value: unknown, path: string): boolean {
  if (typeof value !== 'string')
    return (
      /\b(?:time|timestamp|date|at|on|when|created|ts)\b/.test(path) && parseTime(value) !== null
    );
  return parseTime(value) !== null || ZONELESS.some((format) => parseTime(value, format) !== null);
}

const ZONELESS = INSTANT_FORMATS.filter((format) => format.endsWith('-utc'));
