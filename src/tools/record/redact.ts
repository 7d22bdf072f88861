import { readPointers } from '../../inference/event-fields.ts';
import type { AuditContract, LoginContract } from '../../mapping/contract.ts';
import { recordsAt } from '../../mapping/list-page.ts';
import { splitMemberName } from '../../mapping/member-names.ts';
import { isObject } from '../../mapping/values.ts';
import type { UpstreamResponse } from '../../upstream/types.ts';
import { isSecret } from '../show-value.ts';
import { createCredentialFilter } from './credentials.ts';
import { createStandIns } from './stand-ins.ts';
import type { TrailPage } from './trail.ts';

/** Headers that a response keeps: those that mapping may read. */
const KEPT_HEADERS =
  /^(?:content-type|content-range|link)$|next|cursor|continuation|total|count|pag(?:e|inat)|more|last/;

/**
 * Redacts responses of the service by what they mean. Credentials and cursors are removed. Identifiers and names of
 * actors and targets get stand-ins, also where the same texts are elsewhere in the responses; so do all e-mail and IP
 * addresses. What the contract reads as id, time, action, outcome, type or user agent stays, but for e-mail addresses.
 */
export function redact(
  pages: readonly TrailPage[],
  login: { readonly response: UpstreamResponse; readonly contract: LoginContract } | null,
  credentials: readonly string[],
) {
  const { holds, clean, mark } = createCredentialFilter(credentials);
  const { of, replaceEMails, createReplacement, count } = createStandIns();
  const keep = (text: string) => replaceEMails(clean(text));
  let replace: (text: string) => string = String; // until all persons have stand-ins
  const redactBody = (body: unknown, records: string | null, roleOf: RoleOf) => {
    const recordSet = new Set<unknown>(recordsAt(records, body));
    const changes = { kept: replaceEMails, secret: mark, personal: of, other: replace };
    const copy = (value: unknown, at: string): unknown => {
      const pointer = recordSet.has(value) ? '' : at;
      if (Array.isArray(value)) return value.map((item) => copy(item, `${pointer}/0`));
      if (isObject(value)) {
        const members = Object.entries(value).map(([key, member]) => {
          const token = /^\d+$/.test(key) ? '0' : splitMemberName(key).pointerToken;
          return [keep(key), copy(member, `${pointer}/${token}`)] as const;
        });
        return Object.fromEntries(members);
      }
      const isNumber = typeof value === 'number';
      if (value === '' || (typeof value !== 'string' && !isNumber)) return value;
      const redacted = changes[roleOf(pointer, value)](clean(String(value)));
      return isNumber && !Number.isNaN(Number(redacted)) ? Number(redacted) : redacted;
    };
    return copy(body, ENVELOPE);
  };
  const redactPages = () =>
    pages.map(({ response: { status, headers, body }, contract }): UpstreamResponse => {
      const sources = JSON.stringify([contract.total, contract.paging.next]).toLowerCase();
      const kept = Object.entries(headers)
        .filter(([name]) => KEPT_HEADERS.test(name) || sources.includes(`{"header":"${name}"}`))
        .map(([name, value = '']) => [name, keep([value].flat().join(', '))] as const);
      const redacted = redactBody(body, contract.records, rolesOfPage(contract));
      return { status, headers: Object.fromEntries(kept), body: redacted };
    });
  redactPages(); // gives persons their stand-ins, which replace the same texts everywhere the next time
  replace = createReplacement();
  return {
    pages: redactPages(),
    login: login && {
      ...{ status: login.response.status, headers: {} },
      body: redactBody(login.response.body, null, rolesOfLogin(login.contract)),
    },
    holdsCredential: holds,
    /** Number of texts that have stand-ins. */
    standIns: count(),
  };
}

/** What the value at a pointer means. Of others, only parts are replaced. */
type RoleOf = (pointer: string, value: unknown) => 'kept' | 'personal' | 'secret' | 'other';

/** Pointers begin with it, except those that are relative to a record. */
const ENVELOPE = '#';

function rolesOfPage({ event, total, paging }: AuditContract): RoleOf {
  const { id, occurredAt, action, outcome, actor, target, ipAddress, userAgent } = event;
  const { style, next, more, position, pages } = paging;
  const parties = [actor.identifier, actor.name, target.identifier, target.name];
  const personal = toPatterns('', [...parties, ipAddress]);
  const kept = [
    ...toPatterns('', [id, occurredAt, outcome, actor.type, target.type, userAgent]),
    ...toPatterns(ENVELOPE, [total, more, position, pages, style === 'cursor' ? null : next]),
  ];
  const actions = toPatterns('', action);
  const cursors = toPatterns(ENVELOPE, next);
  return (pointer, value) => {
    if (personal.includes(pointer)) return 'personal';
    const isCount = typeof value === 'number' && pointer.startsWith(ENVELOPE);
    // An action of several words is a sentence that may name somebody.
    const isAction = actions.includes(pointer) && !/\s/.test(String(value));
    if (isCount || isAction || kept.includes(pointer)) return 'kept';
    const isNamed = typeof value === 'string' && isSecret(pointer, value);
    return isNamed || cursors.includes(pointer) ? 'secret' : 'other';
  };
}

function rolesOfLogin({ accessToken, refreshToken, tokenType, expires }: LoginContract): RoleOf {
  const secret = toPatterns(ENVELOPE, [accessToken, refreshToken]);
  const kept = toPatterns(ENVELOPE, [tokenType, expires]);
  return (pointer) =>
    secret.includes(pointer) ? 'secret' : kept.includes(pointer) ? 'kept' : 'personal';
}

/** The pointers of entries, with 0 for every index: the other items of a list mean the same. */
function toPatterns(start: string, entries: unknown): readonly string[] {
  const pointers = readPointers(entries);
  return pointers.map((pointer) => `${start}${pointer.replace(/\/\d+(?=\/|$)/g, '/0')}`);
}
