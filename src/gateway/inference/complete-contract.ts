import { lazy, memoizeByObject } from '../../util/memoize.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';
import {
  type AuditContract,
  type ConfiguredContract,
  type Contract,
  type DeepPartial,
  type EventContract,
  fillGaps,
  type LazyAuditContract,
  type LazyListContract,
  type ListContract,
  type PagingContract,
} from '../mapping/contract.ts';
import { recordsAt, SAMPLE_SIZE, withoutNulls } from '../mapping/list-page.ts';
import { memberAt } from '../mapping/read-entry.ts';
import { inferEnvelope, listEnvelopeFields } from './envelope.ts';
import { inferEvent, NO_EVENT } from './event.ts';
import { EVENT_ENTRIES } from './event-entries.ts';
import { completeLogin } from './login.ts';
import { inferRecords } from './records.ts';

/**
 * Completes a whole contract: infers the entries that are not configured from one response. A pure function: the same
 * response always gives the same contract. `sample` contains the first records.
 */
export function completeContract(
  response: UpstreamResponse,
  { login, audit }: ConfiguredContract = {},
): Pick<Contract, 'login' | 'audit'> & { readonly sample: readonly unknown[] } {
  const { records, total, paging, sample } = completeList(response, audit);
  return {
    sample,
    login: completeLogin(response, login),
    audit: {
      ...{ records, total: total(), paging: paging() },
      parameters: fillGaps<AuditContract['parameters']>(audit?.parameters, NO_PARAMETERS),
      event: completeEvent(audit?.event, sample),
    },
  };
}

/** Completes the contract of the audit trail: infers the entries that are not configured from the response. */
export function completeAudit(
  response: UpstreamResponse,
  { audit = {}, errors }: Pick<ConfiguredContract, 'audit' | 'errors'> = {},
): LazyAuditContract {
  const { parameters, event, identity = null } = audit;
  const { sample, ...list } = completeList(response, audit);
  return {
    ...list,
    ...{ identity, errors },
    parameters: fillGaps<LazyAuditContract['parameters']>(parameters, NO_PARAMETERS),
    event: lazy(() => completeEvent(event, sample)),
  };
}

/** Infers the entries of an event that are not configured. With a complete contract the records are not examined. */
function completeEvent(
  configured: DeepPartial<EventContract> | undefined,
  records: readonly unknown[],
): EventContract {
  return configured === undefined ? inferEvent(records) : completionOf(configured)(records);
}

/** Completes a configured event. Once per contract and shape, so that the readers are compiled once. */
const completionOf = memoizeByObject((configured: DeepPartial<EventContract>) => {
  const isComplete = EVENT_ENTRIES.every(({ name }) => memberAt(configured, name) !== undefined);
  const fill = memoizeByObject((inferred: EventContract) =>
    fillGaps<EventContract>(configured, inferred),
  );
  return (records: readonly unknown[]) => fill(isComplete ? NO_EVENT : inferEvent(records));
});

const NO_PARAMETERS = { since: null, until: null, actor: null, action: null };

/**
 * Completes the contract of any list of records: infers the entries that are not configured from the response. `sample`
 * contains the first records, from which those of an item can be inferred.
 */
export function completeList(
  response: UpstreamResponse,
  { records, total, paging }: DeepPartial<ListContract> = {},
): Omit<LazyListContract, 'errors'> & { readonly sample: readonly unknown[] } {
  const { body } = response;
  const pointer = records === undefined ? inferRecords(body) : records;
  // Both are taken now, because releasing a page empties the list.
  const list = recordsAt(pointer, body) ?? [];
  const { length } = list;
  const envelope = lazy(() => {
    const fields = pointer === '' ? [] : listEnvelopeFields(body, pointer);
    return inferEnvelope(fields, response, length, { total, paging });
  });
  return {
    records: pointer,
    sample: withoutNulls(list).slice(0, SAMPLE_SIZE),
    total: () => envelope().total,
    paging: () => fillGaps<PagingContract>(paging, envelope().paging),
    evidence: () => envelope().evidence,
  };
}
