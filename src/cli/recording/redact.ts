import { readPointers } from '../../inference/event-fields.ts';
import { completeLogin } from '../../inference/login.ts';
import type { AuditContract, ConfiguredContract, LoginContract } from '../../mapping/contract.ts';
import { recordsAt } from '../../mapping/list-page.ts';
import { decodeJwtClaims } from '../../mapping/login.ts';
import { splitMemberName } from '../../mapping/member-names.ts';
import { readSource } from '../../mapping/read-source.ts';
import { isObject } from '../../mapping/values.ts';
import type { UpstreamResponse } from '../../upstream/types.ts';
import { isSecret } from '../learn/show-value.ts';
import { type CredentialFilter, createCredentialFilter } from './credentials.ts';
import { createStandIns, createSubstitution, isAddress, type StandIns } from './stand-ins.ts';
import type { TrailPage } from './trail.ts';

/** Also percent-encoded, as in a link. */
const E_MAILS = /[\p{L}\p{N}._+-]+(?:@|%40)[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/giu;

const IPV4 = /(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])/g;
const JWT = /\bey[\w-]{8,}\.[\w-]+\.[\w-]*/g;

/** Headers that a response keeps: those that mapping may read. */
const KEPT_HEADERS = /^(?:content-type|link)$|next|cursor|continuation|total|count/;

/**
 * Redacts responses of the service by what they mean. Credentials and cursors are removed. Identifiers and names of
 * actors and targets get stand-ins, also where the same texts are elsewhere in the responses; so do all e-mail and IP
 * addresses. What the contract reads as id, time, action, outcome, type or user agent stays, but for e-mail addresses.
 */
export function redact(
  pages: readonly TrailPage[],
  login: UpstreamResponse | null,
  token: string,
  configured: ConfiguredContract,
) {
  const loginContract = completeLogin(
    login ?? { status: 200, headers: {}, body: {} },
    configured.login,
  );
  const { accessToken, refreshToken } = loginContract;
  const tokens = [accessToken, refreshToken].map((source) => login && readSource(source, login));
  const given = tokens.map((one) => String(one ?? '').replace(/^\s*(?:Bearer +)?|\s+$/gi, ''));
  const credentials = createCredentialFilter([token, ...given]);
  const existing = new Set<string>();
  const personal = new Set<string>();
  for (const { response, contract } of pages) {
    const places = placesOf(contract);
    copyPage(response.body, contract, (value, pointer) => {
      const text = String(value);
      const list = text.split(/\s*,\s*/);
      const whole = list.every(isAddress) ? list : places.personal.includes(pointer) ? [text] : [];
      const eMails = text.match(E_MAILS)?.map((one) => one.replace('%40', '@')) ?? [];
      const parts = [...eMails, ...(text.match(IPV4) ?? []).filter(isAddress)];
      for (const one of [text, ...parts]) existing.add(one);
      for (const one of [...whole, ...parts]) if (!credentials.holds(one)) personal.add(one);
      return value;
    });
  }
  personal.delete('');
  const standIns = createStandIns(existing);
  for (const text of personal) standIns.of(text);
  const substitute = createSubstitution([...personal], standIns);
  const eMails = [...personal].filter((text) => text.match(E_MAILS)?.[0] === text);
  const substituteEMails = createSubstitution(eMails, standIns);
  const clean = (text: string) =>
    substituteEMails(credentials.clean(text).replace(JWT, credentials.mark));

  const redactPage = ({ response, contract }: TrailPage): UpstreamResponse => {
    const { kept, actions, cursor } = placesOf(contract);
    const change: Change = (value, pointer) => {
      const text = String(value);
      const isInEnvelope = pointer.startsWith(ENVELOPE);
      const cleaned = clean(text);
      const standIn = standIns.known(text);
      // An action of several words is a sentence that may name somebody.
      const isSentence = actions.includes(pointer) && /\s/.test(text);
      const isCount = isInEnvelope && /^\d+$/.test(text);
      const isKept = isCount || (kept.includes(pointer) && !isSentence);
      if (typeof value === 'number')
        return cleaned !== text ? cleaned : isKept ? value : Number(standIn ?? text);
      if (text === '') return text;
      if (pointer === cursor) return credentials.mark(text);
      if (isKept) return cleaned;
      if (standIn !== undefined) return standIn;
      return isSecret(pointer.replaceAll('*', '0'), text)
        ? credentials.mark(text)
        : substitute(cleaned);
    };
    const named = [contract.total, contract.paging.next].map((source) => Object(source).header);
    const headers = Object.entries(response.headers)
      .filter(([name]) => KEPT_HEADERS.test(name) || named.includes(name))
      .map(([name, value = '']) => [name, clean([value].flat().join(', '))] as const);
    const body = copyPage(response.body, contract, change, clean);
    return { status: response.status, headers: Object.fromEntries(headers), body };
  };
  return {
    pages: pages.map(redactPage),
    login: login && redactLogin(login, loginContract, standIns, credentials),
    /** Number of texts that got stand-ins. */
    standIns: personal.size,
    holdsCredential: (text: string) => credentials.holds(text),
  };
}

/** Of a login only numbers and what the contract reads stay; of a JSON Web Token its expiry, which may be that. */
function redactLogin(
  { status, body }: UpstreamResponse,
  { accessToken, refreshToken, tokenType, expires }: LoginContract,
  standIns: StandIns,
  { mark }: CredentialFilter,
): UpstreamResponse {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const kept = pointersOf([tokenType, expires]);
  const change: Change = (value, pointer) => {
    if (typeof value === 'number' || value === '') return value;
    if (!pointersOf([accessToken, refreshToken]).includes(pointer))
      return kept.includes(pointer) ? value : standIns.of(value);
    const { exp } = decodeJwtClaims(value);
    if (exp === undefined) return mark(value);
    return `${encode({ alg: 'none' })}.${encode({ redacted: true, exp })}.${mark(value)}`;
  };
  return { status, headers: { 'content-type': 'application/json' }, body: copy(body, '', change) };
}

/** Pointers of the envelope begin with it; those of records are relative to the record. */
const ENVELOPE = '#';

function placesOf({ event, total, paging }: AuditContract) {
  const { actor, target, ipAddress, userAgent } = event;
  const fixed = pointersOf([event.id, event.occurredAt, event.action, event.outcome]);
  const parties = [actor.identifier, actor.name, target.identifier, target.name, ipAddress];
  const personal = pointersOf(parties).filter((pointer) => !fixed.includes(pointer));
  const others = pointersOf([actor.type, target.type, userAgent]);
  const { style, next, more, position, pages } = paging;
  const envelope = pointersOf([total, next, more, position, pages]);
  return {
    personal,
    kept: [
      ...[...fixed, ...others.filter((pointer) => !personal.includes(pointer))],
      ...envelope.map((pointer) => `${ENVELOPE}${pointer}`),
    ],
    actions: pointersOf(event.action),
    cursor: style === 'cursor' ? `${ENVELOPE}${pointersOf(next)[0]}` : null,
  };
}

/** The pointers of entries, with an asterisk for every index: the other items of a list mean the same. */
function pointersOf(entries: unknown): readonly string[] {
  return readPointers(entries).map((pointer) => pointer.replace(/\/\d+(?=\/|$)/g, '/*'));
}

/** Returns what replaces a text or a number. */
type Change = (value: string | number, pointer: string) => string | number;

function copyPage(
  body: unknown,
  { records }: AuditContract,
  change: Change,
  changeKey?: (key: string) => string,
): unknown {
  return copy(body, ENVELOPE, change, changeKey, new Set(recordsAt(records, body)));
}

function copy(
  value: unknown,
  at: string,
  change: Change,
  changeKey = (key: string) => key,
  records: ReadonlySet<unknown> = new Set(),
): unknown {
  const pointer = records.has(value) ? '' : at;
  const copyMember = (member: unknown, token: string) =>
    copy(member, `${pointer}/${/^\d+$/.test(token) ? '*' : token}`, change, changeKey, records);
  if (typeof value === 'string' || typeof value === 'number') return change(value, pointer);
  if (Array.isArray(value)) return value.map((item, index) => copyMember(item, String(index)));
  if (!isObject(value)) return value;
  const members = Object.entries(value);
  return Object.fromEntries(
    members.map(([key, member]) => [
      changeKey(key),
      copyMember(member, splitMemberName(key).pointerToken),
    ]),
  );
}
