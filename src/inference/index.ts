import type {
  AuditContract,
  Contract,
  DeepPartial,
  LazyAuditContract,
  LazyListContract,
  ListContract,
  PagingContract,
} from '../mapping/contract.ts';
import { recordsAt, SAMPLE_SIZE } from '../mapping/list-page.ts';
import type { UpstreamResponse } from '../upstream/types.ts';
import { lazy } from '../util/memoize.ts';
import { inferEvent, inferEventLazily } from './event.ts';
import { fillGaps } from './fill-gaps.ts';
import { inferLogin } from './login.ts';
import { inferPagination, inferTotal, profileEnvelope } from './pagination.ts';
import { inferRecords } from './records.ts';

/** Infers a whole contract from one response. A pure function: the same response always gives the same contract. */
export function inferContract(response: UpstreamResponse): Contract {
  const audit = completeAudit(response);
  const records = recordsAt(audit.records, response.body) ?? [];
  return {
    login: inferLogin(response),
    audit: {
      ...audit,
      total: audit.total(),
      paging: audit.paging(),
      event: inferEvent(records.slice(0, SAMPLE_SIZE)),
    },
  };
}

/** Completes the contract of the audit trail: infers the entries that are not configured from the response. */
export function completeAudit(
  response: UpstreamResponse,
  configured: DeepPartial<AuditContract> = {},
): LazyAuditContract {
  const { parameters, event } = configured;
  const list = completeList(response, configured);
  // A copy, because a trail empties the list when it is released.
  const sample = (recordsAt(list.records, response.body) ?? []).slice(0, SAMPLE_SIZE);
  return {
    ...list,
    parameters: fillGaps<LazyAuditContract['parameters']>(parameters, NO_PARAMETERS),
    event: fillGaps<LazyAuditContract['event']>(event, inferEventLazily(sample)),
  };
}

const NO_PARAMETERS = { since: null, until: null, actor: null, action: null };

/** Completes the contract of any list of records: infers the entries that are not configured from the response. */
export function completeList(
  response: UpstreamResponse,
  { records, total, paging }: DeepPartial<ListContract> = {},
): LazyListContract {
  const { body } = response;
  const pointer = records === undefined ? inferRecords(body) : records;
  const length = recordsAt(pointer, body)?.length ?? 0; // now, because releasing a trail empties the list
  const envelope = lazy(() => (pointer === '' ? [] : profileEnvelope(body, pointer)));
  return {
    records: pointer,
    total: () => (total === undefined ? inferTotal(envelope(), response, length) : total),
    paging: () =>
      fillGaps<PagingContract>(paging, inferPagination(envelope(), response, length, paging)),
  };
}
