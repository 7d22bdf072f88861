import { memoizeByObject } from '../../util/memoize.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';
import type { DeepPartial, LoginContract, Source } from '../mapping/contract.ts';
import { type ListPage, SAMPLE_SIZE } from '../mapping/list-page.ts';
import type { LoginTokens } from '../mapping/login.ts';
import { type EntryState, isValue, listEntries, stateOfEntry } from '../mapping/read-entry.ts';
import { isAbsent, readSource } from '../mapping/read-source.ts';
import { isCount } from '../mapping/values.ts';

/** The configured entries of a list: its total, and those of a record. */
type ConfiguredList = {
  readonly total: Source | undefined;
  readonly record: object | undefined;
  /** Their names in the contract, such as `audit.total` and `audit.event`. */
  readonly names: Readonly<Record<'total' | 'record', string>>;
};

/** Names of configured entries that lead to nothing in a response, or to values none of which is understood. */
export type Drift = Readonly<Record<'nothing' | 'unread', readonly string[]>>;

/**
 * Finds drift: configured entries that read nothing, although the response has records. The contract is wrong, or the
 * service has changed.
 */
export function findDrift(
  response: UpstreamResponse,
  { item, length, isPartial }: ListPage,
  { total, record, names }: ConfiguredList,
): Drift {
  if (length === 0 || (record === undefined && total == null)) return toDrift([]);
  const sample = { item, length: Math.min(length, SAMPLE_SIZE) };
  const states = entriesOf(record ?? {}).map(
    (entry) => [`${names.record}.${entry.name}`, stateOfEntry(sample, entry)] as const,
  );
  if (isPartial || total == null) return toDrift(states);
  return toDrift([[names.total, stateOfSource(total, response, isCount)], ...states]);
}

/** The same of a login. A response without a refresh token is usual: the one before is still valid. */
export function findLoginDrift(
  response: UpstreamResponse,
  { refreshToken, tokenType, expires }: DeepPartial<LoginContract> = {},
  tokens: LoginTokens,
): Drift {
  const isText = (value: unknown) => typeof value === 'string';
  const isSet = (value: unknown) => !/^(?:0|-.*|0001-01-01.*)$/.test(String(value)); // means "never"
  const isExpiry = (value: unknown) => tokens.expiresAt !== null || !isSet(value);
  const states: readonly (readonly [string, EntryState])[] = [
    ['login.refreshToken', stateOfSource(refreshToken, response, isText)],
    ['login.tokenType', stateOfSource(tokenType, response, isText)],
    ['login.expires', stateOfSource(expires?.at, response, isExpiry)],
  ];
  return toDrift(
    states.filter(([name, state]) => name !== 'login.refreshToken' || state === 'unread'),
  );
}

const entriesOf = memoizeByObject((record: object) => listEntries(record));

function stateOfSource(
  source: Source = null,
  response: UpstreamResponse,
  isUnderstood: (value: unknown) => boolean,
): EntryState {
  const value = readSource(source, response);
  if (isValue(value)) return isUnderstood(value) ? 'read' : 'unread';
  return source !== null && isAbsent(source, response) ? 'nothing' : 'null';
}

function toDrift(states: readonly (readonly [name: string, EntryState])[]): Drift {
  const of = (state: EntryState) => states.flatMap(([name, one]) => (one === state ? [name] : []));
  return { nothing: of('nothing'), unread: of('unread') };
}
