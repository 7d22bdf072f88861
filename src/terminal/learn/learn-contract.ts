import { isDeepStrictEqual } from 'node:util';
import { CHOSEN_ENTRIES } from '../../gateway/inference/candidates.ts';
import { LIKELY } from '../../gateway/inference/choose-entry.ts';
import { completeAudit, completeContract } from '../../gateway/inference/complete-contract.ts';
import { inferEvent } from '../../gateway/inference/event.ts';
import { readPointers } from '../../gateway/inference/event-entries.ts';
import {
  type AuditContract,
  type ConfiguredContract,
  fillGaps,
} from '../../gateway/mapping/contract.ts';
import { readDeletion } from '../../gateway/mapping/deletion.ts';
import { readAuditPage } from '../../gateway/mapping/event.ts';
import { AUDIT_EVENT, mapFields } from '../../gateway/mapping/event-fields.ts';
import { recordsAt } from '../../gateway/mapping/list-page.ts';
import { memberAt } from '../../gateway/mapping/read-entry.ts';
import { readSource } from '../../gateway/mapping/read-source.ts';
import { isObject } from '../../gateway/mapping/values.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';
import { type Suggestion, suggestFields } from './suggest-fields.ts';
import { suggestAccessToken } from './suggest-login.ts';
import { isCertainlyTrail } from './trail-detection.ts';

/** A response, and its name in the report. */
export type NamedResponse = {
  readonly name: string;
  readonly response: UpstreamResponse;
  /** Whether it is that of the request for the audit trail. */
  readonly isRequested?: boolean;
  /** The base URL of the service, if it is known. */
  readonly url?: URL | undefined;
};

/** A page of the audit trail, or the response to a login, or that to a deletion, by the contract; null if it is none. */
export type ResponseKind = 'audit' | 'login' | 'deletion' | null;

/** The contract of some responses, and what each of them is. */
export type Learned = {
  readonly contract: ConfiguredContract;
  readonly kinds: readonly ResponseKind[];
  /** The records from which the fields of an event were inferred. */
  readonly records: readonly unknown[];
};

/**
 * Completes a configured contract from several responses: the login from the first that has an access token, the audit
 * trail from the first that has more pages, and the fields of an event from a sample of all records.
 */
export function learnContract(
  responses: readonly UpstreamResponse[],
  configured: ConfiguredContract = {},
): Learned {
  const found = responses.map((response) => {
    const completed = completeContract(response, configured);
    return { response, ...completed, kind: kindOf(response, completed, configured) };
  });
  const lists = found.filter(({ kind }) => kind === 'audit');
  const certain = lists.filter(
    ({ response, sample, audit }) =>
      sample.length > 0 && isCertainlyTrail(response, audit, configured.audit?.event),
  );
  const candidates = certain.length > 0 ? certain : lists;
  const trail = candidates.find(({ audit }) => audit.paging.style !== 'none') ?? candidates[0];
  // A response whose list is elsewhere is not of the trail.
  const pages = lists.filter(
    ({ response }) => recordsAt(trail?.audit.records ?? null, response.body) !== null,
  );
  const kinds = found.map((one) => (one.kind !== 'audit' || pages.includes(one) ? one.kind : null));
  const login = found.find(({ kind }) => kind === 'login');
  const records = pages.flatMap(({ sample }) => sample);
  const event = fillGaps<AuditContract['event']>(configured.audit?.event, inferEvent(records));
  const contract = {
    ...(login && { login: login.login }),
    ...(trail && { audit: { ...trail.audit, event } }),
  };
  return { contract: fillGaps<ConfiguredContract>(configured, contract), kinds, records };
}

type Completed = ReturnType<typeof completeContract>;

/**
 * Detects what a response is. With an access token and a list of objects, it is an audit trail if these have times, and
 * the contract does not specify the token. No body is an empty trail, unless a header may be the token.
 */
function kindOf(
  response: UpstreamResponse,
  { login, audit, sample }: Completed,
  configured: ConfiguredContract,
): ResponseKind {
  const hasToken = typeof readSource(login.accessToken, response) === 'string';
  const hasRecords = recordsAt(audit.records, response.body) !== null;
  if (hasToken && (configured.login?.accessToken !== undefined || !hasRecords)) return 'login';
  if (sample.length === 0 && isDeletion(response, configured)) return 'deletion';
  const isOfHeaders = response.body === null && suggestAccessToken(response).length > 0;
  if (isOfHeaders && !hasToken) return null;
  if (hasRecords && (!hasToken || audit.event.occurredAt !== null)) return 'audit';
  return hasToken ? 'login' : null;
}

/** Whether the contract says what a body means as the response to a deletion. */
function isDeletion(response: UpstreamResponse, { deletion }: ConfiguredContract): boolean {
  if (deletion?.outcome == null) return false;
  const { result, by, at } = readDeletion(response, { deletion }, '');
  return result !== null && by === 'contract' && at.length > 0;
}

/**
 * Removes null and default entries from a contract, so that they are inferred from each response. What is configured
 * stays.
 * @returns the same contract if a response would then be mapped differently.
 */
export function withoutDefaults(
  contract: ConfiguredContract,
  responses: readonly UpstreamResponse[],
  configured: ConfiguredContract = {},
): ConfiguredContract {
  // prune() only removes entries, and all are optional.
  const pruned = fillGaps(configured, prune(contract) as ConfiguredContract);
  const isSame = (response: UpstreamResponse) =>
    isDeepStrictEqual(readEvents(response, pruned), readEvents(response, contract));
  return responses.every(isSame) ? pruned : contract;
}

/**
 * Adds null to a contract for each field of an event that was not found: inference then does not examine records for it.
 * An entry is undecided, and omitted, if a contract that reads it is more likely right than not: null would hide its field.
 */
export function withNulls(
  contract: ConfiguredContract,
  { audit }: ConfiguredContract,
  records: readonly unknown[],
): { readonly contract: ConfiguredContract; readonly undecided: readonly string[] } {
  if (audit?.event === undefined) return { contract, undecided: [] };
  const { event } = audit;
  const read = readPointers(event);
  const suggested = suggestFields(records);
  const isLikely = ({ confidence, fields }: Suggestion) =>
    confidence >= LIKELY && !fields.some(({ pointer }) => read.includes(pointer));
  const undecided = CHOSEN_ENTRIES.filter(
    (name) =>
      memberAt(event, name) === null &&
      memberAt(contract.audit?.event, name) === undefined &&
      suggested[name].suggestions.some(isLikely),
  );
  const decided = omit(event, undecided) as typeof event; // its entries are optional
  return { contract: { ...contract, audit: { ...contract.audit, event: decided } }, undecided };
}

/** An object of entries without some of them, which are named with points, such as `actor.name`. */
function omit(entries: unknown, names: readonly string[], path = ''): unknown {
  if (!isObject(entries) || 'at' in entries) return entries;
  const kept = Object.entries(entries).filter(([key]) => !names.includes(path + key));
  return Object.fromEntries(kept.map(([key, one]) => [key, omit(one, names, `${path}${key}.`)]));
}

function prune(value: unknown): unknown {
  if (!isObject(value)) return value;
  const members = Object.entries(value)
    .filter(([key, member]) => key !== 'start' && Object(member).style !== 'none')
    .map(([key, member]) => [key, prune(member)] as const)
    .filter(([, member]) => member !== null && !isDeepStrictEqual(member, {}));
  return Object.fromEntries(members);
}

/** Reads every field of every event; null if the response has no list of records, such as that of a login. */
function readEvents(response: UpstreamResponse, contract: ConfiguredContract): unknown {
  try {
    const trail = readAuditPage(completeAudit(response, contract), response);
    return Array.from({ length: trail.length }, (_, index) =>
      FIELDS.map((field) => trail.item(index)[field]),
    );
  } catch {
    return null;
  }
}

/** Every field of an event. */
export const FIELDS = [...Object.values(mapFields(AUDIT_EVENT, (name) => name)), 'raw'] as const;
