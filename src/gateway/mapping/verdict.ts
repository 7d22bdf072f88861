import type { UpstreamResponse } from '../../util/upstream-response.ts';
import type { MappedError } from './contract.ts';
import { decisiveAmounts, isNothing, unwrap, weigh } from './deleted-amounts.ts';
import { type Finding, isAmount, isSentence, judgePart, type Sentence } from './judge-part.ts';
import { readSource } from './read-source.ts';
import { isEmpty, toFlag, toKey } from './values.ts';
import {
  type Judged,
  listParts,
  type Name,
  namesOf,
  type Says,
  statusesOf,
  toMembers,
} from './verdict-parts.ts';

/** The verdict on a response. */
export type Verdict = {
  readonly says: Says;
  /** Pointers of what decided, in the body. Empty: nothing in it. */
  readonly at: readonly string[];
  /** HTTP statuses of failures that it names. */
  readonly statuses: readonly number[];
  /** What decided: the contract, a header, a member such as a code, a flag or a count, a sentence, or nothing that the body has. */
  readonly by: 'contract' | 'header' | 'member' | 'sentence' | 'body';
  /** Whether a code that is not understood is a number, and not 1. */
  readonly isNumber: boolean;
};

/**
 * Judges what a response says of its own success: by the contract, in a header, in the members around its data, in a
 * sentence.
 */
export function judge(response: UpstreamResponse, judged: Judged): Verdict {
  return judgeByContract(response, judged) ?? judgeHeaders(response) ?? judgeBody(response, judged);
}

/** Null if the contract has no `errors`, or there is no value at it. */
function judgeByContract(
  response: UpstreamResponse,
  { errors, operation }: Judged,
): Verdict | null {
  if (errors === undefined) return null;
  const value = readSource(errors.at, response) ?? null;
  const key = toKey(value);
  const meaning = Object.hasOwn(errors.map, key) ? errors.map[key] : errors.else;
  if (value === null && !Object.hasOwn(errors.map, key)) return null;
  const at = typeof errors.at === 'object' && 'header' in errors.at ? [] : [errors.at].flat();
  const verdict = (says: Says, ...statuses: number[]): Verdict => ({
    ...{ says, at, statuses, by: 'contract', isNumber: false },
  });
  if (meaning === undefined) return verdict('UNKNOWN');
  if (meaning === null) return verdict('DONE');
  if (meaning === 'UNAUTHENTICATED') return verdict('REFUSED_TOKEN', 401);
  if (meaning === 'NOT_FOUND' && operation === 'deletion') return verdict('ABSENT', 404);
  return verdict('FAILED', ...STATUSES[meaning]);
}

/** The HTTP status that means the same. */
const STATUSES: Readonly<Record<Exclude<MappedError, null>, readonly number[]>> = {
  ...{ UNAUTHENTICATED: [401], FORBIDDEN: [403], NOT_FOUND: [404], CONFLICT: [409] },
  ...{ RATE_LIMITED: [429], BAD_USER_INPUT: [400], UPSTREAM_ERROR: [] },
};

/** The status of gRPC, and the challenge to a token (RFC 6750, section 3). */
function judgeHeaders({ headers }: UpstreamResponse): Verdict | null {
  const verdict = (says: Says, ...statuses: number[]): Verdict => ({
    ...{ says, at: [], statuses, by: 'header', isNumber: false },
  });
  const isChallenge = /\berror\s*=/i.test(String(headers['www-authenticate'] ?? ''));
  if (isChallenge) return verdict('REFUSED_TOKEN', 401);
  const status = headers['grpc-status'];
  if (status === undefined || status === '0') return null;
  const meaning = GRPC_STATUSES[String(status)];
  return meaning === undefined ? verdict('FAILED') : verdict('FAILED', meaning);
}

/** HTTP statuses of those of gRPC (google.rpc.Code). */
const GRPC_STATUSES: Readonly<Record<string, number>> = {
  ...{ 3: 400, 5: 404, 6: 409, 7: 403, 8: 429, 16: 401 },
};

function judgeBody({ status, body }: UpstreamResponse, judged: Judged): Verdict {
  const isDeletion = judged.operation === 'deletion';
  const parts = listParts(body, judged);
  const found = parts.flatMap((part) =>
    judgePart(part, judged).map((finding) => ({ finding, part })),
  );
  const where = (isWanted: (finding: Finding) => boolean) => [
    ...new Set(found.flatMap(({ finding, part }) => (isWanted(finding) ? part.pointer : []))),
  ];
  const at = (...wanted: readonly Finding[]) => where((finding) => wanted.includes(finding));
  const sentences = (...wanted: readonly Sentence['sentence'][]) =>
    where((finding) => isSentence(finding) && wanted.includes(finding.sentence));
  const amounts = decisiveAmounts(
    found.flatMap(({ finding }) => (isAmount(finding) ? finding : [])),
  );
  const isDeleted = weigh(amounts);
  const whole = isDeletion && isNothing(unwrap(body)) ? [''] : [];
  const undone = isDeleted === false ? amounts.filter(({ isSome }) => !isSome) : [];
  const failed = [...at('FAILED', ...undone), ...whole];
  const statuses = parts.flatMap(statusesOf);
  const isGone = statuses.length > 0 && statuses.every((one) => one === 404 || one === 410);
  const verdict = (says: Says, pointers: readonly string[], by: Verdict['by'] = 'member') => ({
    ...{ says, at: pointers, by, isNumber: false },
    statuses: says === 'REFUSED_TOKEN' && statuses.length === 0 ? [401] : statuses,
  });
  const isSaidDone = isDeleted === true;
  const problems = [...failed, ...at('ABSENT', 'REFUSED_TOKEN')];
  if (statuses.length > 0)
    return verdict(isDeletion && isGone && !isSaidDone ? 'ABSENT' : 'FAILED', problems);
  // A client sends a request again whose token was refused: not if something says that it was done.
  const refused = at('REFUSED_TOKEN');
  if (refused.length > 0 && !isSaidDone) return verdict('REFUSED_TOKEN', refused);
  const absent = at('ABSENT');
  if (absent.length > 0 && isDeletion && !isSaidDone) return verdict('ABSENT', absent);
  if (problems.length > 0) return verdict('FAILED', problems);
  const parted = at('PART');
  if (parted.length > 0) return verdict('PART', parted);
  const later = at('LATER');
  if (later.length > 0) return verdict('LATER', later);
  if (isDeletion && status === 202) return verdict('LATER', sentences('LATER'));
  const deleted = at(...amounts);
  if (isDeleted && deleted.length > 0) return verdict('DONE', deleted);
  const done = at('DONE');
  const unknown = done.length > 0 ? at('UNKNOWN') : at('UNKNOWN', 'ONE');
  const [failing, waiting] = [sentences('FAILED'), sentences('LATER')];
  if (unknown.length > 0 || done.length === 0) {
    if (failing.length > 0) return verdict('FAILED', failing, 'sentence');
    if (waiting.length > 0) return verdict('LATER', waiting, 'sentence');
  }
  const good = [...done, ...sentences('DONE')];
  if (unknown.length > 0 && !(at('UNKNOWN').length === 0 && good.length > 0)) {
    const isNumber = found.some(
      ({ finding, part }) => finding === 'UNKNOWN' && typeof part.member.value === 'number',
    );
    return { ...verdict('UNKNOWN', unknown), isNumber };
  }
  if (done.length > 0 && failing.length > 0) return verdict('UNKNOWN', failing, 'sentence');
  if (waiting.length > 0 && isDeletion) return verdict('LATER', waiting, 'sentence');
  if (good.length > 0) return verdict('DONE', good, done.length > 0 ? 'member' : 'sentence');
  const unread = sentences('UNKNOWN');
  if (unread.length > 0) return verdict('UNKNOWN', unread, 'sentence');
  const open = where((finding) => finding === 'SILENT');
  const others = parts
    .filter(({ pointer }) => !open.includes(pointer))
    .map(({ pointer }) => pointer);
  return others.length > 0 ? verdict('UNKNOWN', [], 'body') : verdict('NOTHING', [], 'body');
}

/**
 * Whether a page with records may say that it is not whole: a member of the body that speaks, and says nothing usual. Only
 * then all members are judged.
 */
export function mayBePart(body: unknown): boolean {
  return toMembers(body).some(({ words, value }) => {
    const names = namesOf(words);
    if (!SPEAKING.some((name) => names.has(name))) return false;
    if (typeof value === 'object') return value !== null && !isEmpty(value);
    const isFlag = names.has('error') || names.has('part');
    return isFlag ? toFlag(value) !== false && value !== '' : !USUAL.test(String(value));
  });
}

const SPEAKING: readonly Name[] = ['error', 'part', 'shard', 'status', 'success', 'complete'];
const USUAL = /^(?:true|0+|2\d\d|ok|success|)$/i;
