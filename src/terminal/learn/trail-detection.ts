import { completeAudit } from '../../gateway/inference/complete-contract.ts';
import { listEnvelopeFields } from '../../gateway/inference/envelope.ts';
import { LIST_NAMES } from '../../gateway/inference/envelope-names.ts';
import { usedPointers } from '../../gateway/inference/event-entries.ts';
import { profileFields } from '../../gateway/inference/profile-fields.ts';
import { classesOf } from '../../gateway/inference/word-classes.ts';
import type { AuditContract, ConfiguredContract } from '../../gateway/mapping/contract.ts';
import { readAuditPage } from '../../gateway/mapping/event.ts';
import { SAMPLE_SIZE } from '../../gateway/mapping/list-page.ts';
import { splitMemberName } from '../../gateway/mapping/member-names.ts';
import { parseTime } from '../../gateway/mapping/time.ts';
import { isObject } from '../../gateway/mapping/values.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';
import { suggestFields } from './suggest-fields.ts';

/** Words in the names of what surrounds a list in the response to a login. */
const LOGIN_WORDS =
  /\b(?:token|session|sid|\w*sessid|jsessionid|ticket|secret|password|passwd|passphrase|pwd|credential|jwt|bearer|cookie|otp|pin|hash|salt|signature|nonce|csrf|xsrf|saml|assertion|log ?[io]n|sign ?in|auth\w*|key|user|account|profile|role|permission|scope|grant|entitlement|expir\w*|refresh|access|identity)\b/;

/** Names of opaque texts that are no credentials. */
const REQUEST_WORDS =
  /\b(?:request|trace|correlation|span|transaction|query|etag|version|checksum)\b/;

const OPAQUE = /^(?=.*\d)[\w+/=.~:|-]{12,}$/;

/** Reads a page of the trail, and the first events of it, whatever it says of its own success. */
export function readSample(response: UpstreamResponse, audit: ConfiguredContract['audit']) {
  const page = readAuditPage({ ...completeAudit(response, { audit }), errors: null }, response);
  const length = Math.min(page.length, SAMPLE_SIZE);
  return { page, events: Array.from({ length }, (_, index) => page.item(index)) };
}

/**
 * Whether a response is certainly a page of the audit trail, and not that of a login with a list of objects: its records
 * have times and actions, or times, IDs, outcomes and no opaque text; and no name around them is one that a login may have.
 * Of any other, no value is shown.
 */
export function isCertainlyTrail(
  response: UpstreamResponse,
  audit: AuditContract,
  configured: NonNullable<ConfiguredContract['audit']>['event'] = {},
): boolean {
  const { body } = response;
  const { records, event } = audit;
  const { events } = readSample(response, audit);
  if (events.length === 0) return true;
  if (isObject(body) && isObject(body['log']) && records === '/log/entries') return false; // a HAR
  const around = listEnvelopeFields(body, records).filter(({ kinds }) => kinds.size === 0);
  const isOfLogin = around.some(
    ({ pointer, value }) =>
      LOGIN_WORDS.test(wordsOf(pointer)) ||
      (isOpaque(String(value)) && !REQUEST_WORDS.test(wordsOf(pointer))),
  );
  if (isOfLogin || LOGIN_WORDS.test(wordsOf(records ?? ''))) return false;
  const raw = events.map((one) => one.raw);
  const isMost = (count: number) => count * 2 >= events.length;
  const countOf = (name: 'id' | 'occurredAt' | 'action' | 'outcome') =>
    events.filter((one) => one[name] !== null).length;
  const suggested = suggestFields(raw);
  /** The fields of most records, one of which is certainly that of an entry. */
  const listCertain = (name: 'occurredAt' | 'action') => {
    const confidences = new Map<string, number>();
    for (const { confidence, fields } of suggested[name].suggestions)
      for (const { pointer, values } of fields.slice(0, 1))
        if (isMost(values.length)) confidences.set(pointer, confidence);
    const sum = confidences.values().reduce((all, one) => all + one, 0);
    return sum >= CERTAIN ? [...confidences.keys()] : [];
  };
  if (!isMost(countOf('occurredAt')) && listCertain('occurredAt').length === 0) return false;
  const isPlain = profileFields(raw).every(({ values }) => !values.map(String).some(isOpaque));
  if (isPlain && events.length > 1 && countOf('id') > 1 && countOf('outcome') > 0) return true;
  const isRead = isMost(countOf('action'));
  if (isRead && configured.action !== undefined) return true;
  const certain = listCertain('action');
  const actions = isRead ? [...usedPointers(event.action, raw), ...certain] : certain;
  const isNamed = actions.some((pointer) => endOf(pointer).split(' ').some(isForAction));
  const list = wordsOf(records?.replace(/^.*\//, '/') ?? '');
  return isNamed || (certain.length > 0 && LIST_NAMES.strong.test(list));
}

/** The words of the last two keys: `action type`. */
function endOf(pointer: string): string {
  return wordsOf(pointer.split('/').slice(-2).join('/'));
}

/** Whether a word names an action, and not how somebody logs in. */
function isForAction(word: string): boolean {
  return word !== 'method' && classesOf(word).includes('action');
}

/** From this confidence on, together, one of some fields is certainly a time or an action. */
const CERTAIN = 0.9;

/** Whether a text may be a credential, or a cursor. */
export function isOpaque(text: string): boolean {
  return OPAQUE.test(text) && parseTime(text) === null;
}

function wordsOf(pointer: string): string {
  return pointer
    .split('/')
    .map((token) => splitMemberName(token).words)
    .join(' ');
}
