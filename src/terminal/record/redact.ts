import { followTrailLink, type MappedPage } from '../../gateway/api/read-trail.ts';
import { type EnvelopeField, listEnvelopeFields } from '../../gateway/inference/envelope.ts';
import type {
  AuditContract,
  ConfiguredContract,
  LoginContract,
} from '../../gateway/mapping/contract.ts';
import { decodeJwtClaims } from '../../gateway/mapping/login.ts';
import { splitMemberName } from '../../gateway/mapping/member-names.ts';
import { parseHeader, readLinkHeader, readRange } from '../../gateway/mapping/read-source.ts';
import { parseTime } from '../../gateway/mapping/time.ts';
import { isObject, toFlag, toText } from '../../gateway/mapping/values.ts';
import { judge } from '../../gateway/mapping/verdict.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';
import { findDataKeys } from './data-keys.ts';
import { createCredentialSearch } from './find-credentials.ts';
import { createFieldRedaction, textsOf, toPatterns } from './kept-values.ts';
import { createStandIns } from './stand-ins.ts';

/** Responses of a service, with what is needed to understand them. */
export type Recorded = {
  readonly url: URL;
  readonly pages: readonly MappedPage[];
  readonly login: { readonly response: UpstreamResponse; readonly contract: LoginContract } | null;
  readonly configured: ConfiguredContract;
  readonly credentials: readonly string[];
};

/** Redacts the text at a pointer, which begins with # unless it is relative to a record. */
type Redact = (pointer: string, text: string) => string;

/**
 * Redacts responses. Everything is replaced by a stand-in, but for what mapping needs: the names of fields, booleans,
 * times, actions, types and outcomes as the contract reads them, and counts and flags around the records.
 */
export function redact({ url, pages, login, configured, credentials }: Recorded) {
  const holdsCredential = createCredentialSearch(credentials);
  const { ofText, ofNumber, count } = createStandIns(textsOf(configured));
  const isDataKey = findDataKeys(pages, [login?.response.body], [configured, login?.contract]);
  const redactKey = (key: string) => (isDataKey(key) || holdsCredential(key) ? ofText(key) : key);
  const kept = new Set<string>();

  const copy = (
    value: unknown,
    at: string,
    change: Redact,
    ofRecord: ReadonlyMap<unknown, Redact> = new Map(),
  ): unknown => {
    if (Array.isArray(value)) return value.map((item) => copy(item, `${at}/0`, change, ofRecord));
    if (isObject(value)) {
      const changeRecord = ofRecord.get(value);
      const start = changeRecord === undefined ? at : '';
      // From the last one on: JavaScript sorts keys that are numbers, and the stand-ins for numbers descend.
      const keys = Object.keys(value)
        .toReversed()
        .map((key) => [key, redactKey(key)] as const);
      const members = keys.toReversed().map(([key, redacted]) => {
        const token = /^\d+$/.test(key) ? '0' : splitMemberName(key).pointerToken;
        const member = copy(value[key], `${start}/${token}`, changeRecord ?? change, ofRecord);
        return [redacted, member] as const;
      });
      return Object.fromEntries(members);
    }
    if (typeof value !== 'string' && typeof value !== 'number') return value;
    const text = String(value);
    const changed = change(at, text);
    const isKept = changed === text && !holdsCredential(text);
    if (typeof value === 'number') return isKept ? value : ofNumber(value);
    if (isKept && toText(text) !== null) kept.add(at);
    return isKept || changed !== text ? changed : ofText(text);
  };

  const redactAround = (text: string) => redactLink(text, url, ofText) ?? ofText(text);
  const redactHeaders = (
    headers: UpstreamResponse['headers'],
    { total, paging }: AuditContract,
  ) => {
    const sources = JSON.stringify([total, paging]).toLowerCase();
    const named = Object.entries(headers).flatMap(([name, value = '']) => {
      const isRead = KEPT_HEADERS.test(name) || sources.includes(`{"header":"${name}`);
      const [first = ''] = [value].flat();
      const json = parseHeader(first);
      return isRead ? [[name, isObject(json) ? json : first] as const] : [];
    });
    const fields = listEnvelopeFields(Object.fromEntries(named), NO_LIST);
    const read = [...sources.matchAll(/\{"header":"([^"]+)"\}/g)].map(([, at]) => `#/${at}`);
    const change = createEnvelopeRedaction(fields, read, redactAround);
    return named.map(([name, value]): [string, string] => {
      if (name === 'link') {
        const next = readLinkHeader(headers[name]) ?? '';
        return [name, `<${redactAround(next)}>; rel="${next && 'next'}"`];
      }
      const range = readRange({ [name]: String(value) });
      if (range !== null) return [name, String(value).replace(/^[a-z][\w-]*/i, 'items')];
      const copied = copy(value, `#/${name}`, change);
      const text = typeof copied === 'string' ? copied : JSON.stringify(copied);
      return [name, text.replace(/[^ -~]/g, '~')];
    });
  };

  const redactPage = ({ response, contract, events }: MappedPage): UpstreamResponse => {
    const { status, headers, body } = response;
    const { total, paging, records } = contract;
    const read = [
      ...toPatterns([total, paging.more, paging.position, paging.pages]).map((one) => `#${one}`),
      ...listVerdicts(response, 'read', configured),
    ];
    const fields = records === '' ? [] : listEnvelopeFields(body, records);
    const raws = events.map(({ raw }) => raw);
    const change = createFieldRedaction(contract, configured, raws, ofText);
    const ofRecord = new Map(
      events.map((event) => [event.raw, (at: string, text: string) => change(at, text, event)]),
    );
    return {
      status,
      headers: {
        ...Object.fromEntries(redactHeaders(headers, contract)),
        'content-type': 'application/json',
      },
      body: copy(body, '#', createEnvelopeRedaction(fields, read, redactAround), ofRecord),
    };
  };

  const redactLogin = ({
    response,
    contract,
  }: NonNullable<Recorded['login']>): UpstreamResponse => {
    const read = toPatterns([contract.tokenType, contract.expires]).map((one) => `#${one}`);
    const spoken = listVerdicts(response, 'login', configured);
    const change = createEnvelopeRedaction([], [...read, ...spoken], ofText);
    const changeToken = (at: string, text: string) => {
      const { exp } = decodeJwtClaims(text);
      // It remains a JSON Web Token with its expiry.
      if (typeof exp === 'number')
        return `${encode({ alg: 'none' })}.${encode({ exp, jti: ofText(text) })}.`;
      const isRead = read.includes(at) && (/^\w+$/.test(text) || parseTime(text) !== null);
      return isRead ? text : change(at, text);
    };
    return { status: response.status, headers: {}, body: copy(response.body, '#', changeToken) };
  };

  return {
    pages: pages.map(redactPage),
    login: login && redactLogin(login),
    holdsCredential,
    /** Pointers of the texts that stayed; those that begin with # are around the records. */
    kept: [...kept].map((at) => at.split('/').map(redactKey).join('/')),
    /** Number of words that have stand-ins. */
    standIns: count(),
  };
}

/** Where a response says whether the request succeeded: its codes and flags stay. */
function listVerdicts(
  response: UpstreamResponse,
  operation: 'read' | 'login',
  { errors }: ConfiguredContract,
): readonly string[] {
  return judge(response, { operation, errors }).at.map((pointer) => `#${pointer}`);
}

/** The pointer of a list that is not there: the fields of the whole value are those around it. */
const NO_LIST = '/-';

/** Headers that a response keeps: those that mapping may read. */
const KEPT_HEADERS =
  /^(?:content-range|link)$|next|cursor|continuation|total|count|pag(?:e|inat)|more|last/;

/** A number, a bound or an estimate of one, such as `10,000+`, and what says that it is one. */
const COUNTER =
  /^(?:(?:[>≥~≈]=?|more than|over|at least|about|approx\.?)? *\d{1,12}(?:[,.' ]\d{3}){0,4}[kmb]? *\+?|eq|gte?|exact|estimated?|approximated?|lower[ _-]bound|at[ _-]least|partial|limited|capped)$/i;

/** What services write to a list that is empty, or to say that nothing is wrong. */
const NOTHING_WRONG =
  /^(?:0|ok(?:ay)?|success|successful|done|completed?|none|false|empty|no (?:more |matching )?(?:records?|results?|events?|logs?|entries|data|items)(?: (?:were )?found)?)\.?$/i;

/** Around the records, counts and flags stay, and what says that nothing is wrong. */
function createEnvelopeRedaction(
  fields: readonly EnvelopeField[],
  read: readonly string[],
  redactOther: (text: string) => string,
): Redact {
  const kindsAt = new Map(fields.map(({ pointer, kinds }) => [`#${pointer}`, kinds]));
  return (at, text) => {
    const kinds = kindsAt.get(at);
    const isCounter = read.includes(at) || (kinds && kinds.size > 0 && !kinds.has('cursor'));
    const isFlag = (isCounter || kinds?.has('flag')) && toFlag(text) !== null;
    const stays = isFlag || (isCounter && COUNTER.test(text)) || NOTHING_WRONG.test(text);
    return stays ? text : redactOther(text);
  };
}

/** A link to a page leads to the same path, with its query redacted. Null for any other text. */
function redactLink(text: string, url: URL, redactQuery: (query: string) => string): string | null {
  const [start] = /^(?:https?:\/\/|\/|\?)/.exec(text) ?? [];
  const link = start === undefined ? null : followTrailLink(text, url);
  if (link === null) return null;
  const page = new URL(`${url.href.replace(/\/+$/, '')}${link}`);
  const before = start === '?' ? '' : `${start === '/' ? '' : page.origin}${page.pathname}`;
  return before + redactQuery(page.search);
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}
