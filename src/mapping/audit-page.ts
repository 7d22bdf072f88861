import type { UpstreamResponse } from '../upstream/types.ts';
import type { LazyAuditContract } from './contract.ts';
import { AuditEvent, compileEventReaders } from './event.ts';
import { type ListPage, readListPage } from './list-page.ts';
import { type EntryNames, FIRST_PAGE, type PageRequest } from './next-page.ts';

/** One page of the audit trail. */
export type AuditPage = ListPage<AuditEvent>;

const AUDIT_ENTRY_NAMES: EntryNames = {
  paging: 'audit.paging',
  id: 'audit.event.id',
  total: 'audit.total',
};

/** Reads one page of the audit trail, as `readListPage` reads a list. */
export function readAuditPage(
  contract: LazyAuditContract,
  response: UpstreamResponse,
  request: PageRequest = FIRST_PAGE,
): AuditPage {
  const readers = compileEventReaders(contract.event, contract.identity);
  const toItem = (record: unknown) => new AuditEvent(record, readers);
  return readListPage(contract, response, { entryNames: AUDIT_ENTRY_NAMES, toItem }, request);
}
