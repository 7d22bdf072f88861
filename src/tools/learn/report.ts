import type { AuditContract, ConfiguredContract, LoginContract } from '../../mapping/contract.ts';
import type { UpstreamResponse } from '../../upstream/types.ts';
import { escapeUnprintable } from '../../util/escape-unprintable.ts';
import { wrap } from '../../util/wrap.ts';
import { formatReadyLines } from './contract-lines.ts';
import type { ResponseKind } from './learn-contract.ts';
import { reportLogin, reportTexts } from './login-report.ts';
import { hasRowsOfValues, suggestRecords } from './suggest-records.ts';
import { reportTrail } from './trail-report.ts';

/** A response, and its name in the report. */
export type NamedResponse = {
  readonly name: string;
  readonly response: UpstreamResponse;
  /** Whether it is that of the request for the audit trail. */
  readonly isRequested?: boolean;
  /** The base URL of the service, if it is known. */
  readonly url?: URL | undefined;
};

/**
 * Formats what a contract reads of some responses, and what to add to it. Lines have at most 100 columns, unless a
 * contract or a word is longer.
 */
export function formatReport(
  responses: readonly NamedResponse[],
  kinds: readonly ResponseKind[],
  contract: ConfiguredContract,
  configured: ConfiguredContract,
): string {
  const of = (kind: ResponseKind) => responses.filter((_, index) => kinds[index] === kind);
  const trails = of('audit');
  // learnContract() completes the part of each kind that there is.
  const { audit, login } = contract as { audit: AuditContract; login: LoginContract };
  const lines = [
    ...of('login')
      .slice(0, 1)
      .flatMap(({ response }) => reportLogin(response, login)),
    ...of(null).flatMap((response) => reportUnknown(response, configured)),
    ...(trails.length === 0 ? [] : reportTrail(trails, audit, configured.audit?.event)),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

/** Reports a response with neither a list of records nor an access token: where they may be. */
function reportUnknown(
  { name, response }: NamedResponse,
  { login }: ConfiguredContract,
): readonly string[] {
  const lists = suggestRecords(response.body);
  const texts = reportTexts(response, login?.accessToken);
  const rows = hasRowsOfValues(response.body)
    ? [
        '  It has rows of values, whose names are elsewhere. Keytrail reads records that are objects.',
      ]
    : [];
  return [
    ...wrap(
      escapeUnprintable(`Keytrail found neither records nor an access token in ${name}.`),
      '  ',
    ),
    ...rows,
    ...(lists.length === 0
      ? []
      : [
          '  records is null. If one of these has the records of the audit trail, add to the contract:',
          ...formatReadyLines(
            lists.map(({ pointer, length }) => ({
              contract: { audit: { records: pointer } },
              note: `${length} ${length === 1 ? 'object' : 'objects'}`,
            })),
          ),
        ]),
    ...texts,
  ];
}
