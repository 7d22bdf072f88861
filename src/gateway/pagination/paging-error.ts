import { GatewayError } from '../../errors.ts';
import type { Source } from '../mapping/contract.ts';
import type { MissingPage } from '../mapping/next-page.ts';

/** The error for a next page that cannot be requested. */
export function toPagingError(page: MissingPage): GatewayError {
  const { missing, reason, announcers = [], linkAt = null } = page;
  const styles = missing.endsWith('.style') ? ' (`page`, `offset` or `last-id`)' : '';
  const nulls = announcers.map((entry) => `\`${entry}: null\``).join(' and ');
  const hint = nulls && ` If there are none that the caller may read, set ${nulls}.`;
  const message =
    reason !== undefined
      ? `The next page would repeat or skip records: correct \`${missing}\` in the contract (KEYTRAIL_CONTRACT).`
      : linkAt !== null
        ? `The service has more records, but ${describeForeignLink(linkAt, missing)} in the contract (KEYTRAIL_CONTRACT), or another style in \`${missing.replace(/\.follow$/, '')}\`.`
        : `The service has more records, but Keytrail cannot request the next page: set or correct \`${missing}\`${styles} in the contract (KEYTRAIL_CONTRACT).${hint}`;
  return new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: reason ?? 'PAGING_UNKNOWN', message });
}

/** Pointers that name members. Others may have keys that are data, which no message contains. */
const NAMES = /^(?:\/[a-z_@$][a-z_@$: .-]*\d?)+$/i;

/** Says what a link to the next page leads to, and what to set. */
export function describeForeignLink(at: Source, entry: string): string {
  const [pointer] = [at].flat();
  const place =
    typeof pointer === 'string'
      ? NAMES.test(pointer)
        ? `the link at \`${pointer}\``
        : 'the link to the next page'
      : `the link in the header \`${pointer?.header}\``;
  return `${place} leads to another host or path: set \`${entry}\` to \`query\``;
}
