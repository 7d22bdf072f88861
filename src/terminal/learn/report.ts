import type {
  AuditContract,
  ConfiguredContract,
  LoginContract,
  Source,
} from '../../gateway/mapping/contract.ts';
import { readDeletion } from '../../gateway/mapping/deletion.ts';
import { compilePointer } from '../../gateway/mapping/json-pointer.ts';
import { readSource } from '../../gateway/mapping/read-source.ts';
import { judge } from '../../gateway/mapping/verdict.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';
import { describeLength, hideKeys } from '../show-value.ts';
import { formatReadyLines, formatSentence, formatSource, type ReadyLine } from './format.ts';
import type { NamedResponse, ResponseKind } from './learn-contract.ts';
import { suggestDeletion } from './suggest-deletion.ts';
import {
  listTexts,
  suggestAccessToken,
  suggestExpiry,
  suggestRefreshToken,
} from './suggest-login.ts';
import { hasRowsOfValues, suggestRecords } from './suggest-records.ts';
import { reportTrail } from './trail-report.ts';

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
  const [[login], unknown, trails] = [of('login'), of(null), of('audit')];
  // learnContract() completes the part of each kind that there is.
  const complete = contract as { audit: AuditContract; login: LoginContract };
  const lines = [
    ...(login === undefined ? [] : reportLogin(login.response, complete.login)),
    ...(login === undefined ? [] : adviseErrors(login.response, 'login', configured)),
    ...of('deletion').flatMap(({ response }) => reportDeletion(response, configured)),
    ...unknown.flatMap((response) => reportUnknown(response, configured.login?.accessToken)),
    ...(trails.length > 0 ? reportTrail(trails, complete.audit, configured.audit?.event) : []),
    ...trails.slice(0, 1).flatMap(({ response }) => adviseErrors(response, 'read', configured)),
  ];
  return lines.map((line) => `${hideKeys(line)}\n`).join(''); // names of members may be keys, too
}

/** Reports where the fields of a response to a login are read from. It never shows a value of a text. */
function reportLogin(
  response: UpstreamResponse,
  { accessToken, refreshToken, tokenType, expires }: LoginContract,
): readonly string[] {
  const row = (name: string, source: Source) => {
    const value = source === null ? null : readSource(source, response);
    const length = typeof value === 'string' ? ` ${describeLength(value)}` : '';
    return formatSentence(`  ${name.padEnd(12)}  ${formatSource(source)}${length}`);
  };
  return [
    'The login response has an access token:',
    '',
    ...row('accessToken', accessToken),
    ...row('refreshToken', refreshToken),
    ...row('tokenType', tokenType),
    ...row('expires', expires?.at ?? null),
    '',
    ...(refreshToken === null
      ? adviseRefreshToken(suggestRefreshToken(response, accessToken))
      : []),
    ...(expires === null ? adviseExpiry(suggestExpiry(response)) : []),
  ];
}

/**
 * Reports a response with neither a list of records nor an access token: where they may be. Of texts it shows only the
 * lengths, as one may be a token.
 */
function reportUnknown(
  { name, response }: NamedResponse,
  accessToken: Source = null,
): readonly string[] {
  const lists = suggestRecords(response.body);
  const texts = listTexts(response).join(', ');
  return [
    ...formatSentence(`Keytrail found neither records nor an access token in ${name}.`, '  '),
    ...(hasRowsOfValues(response.body) ? formatSentence(ROWS_OF_VALUES) : []),
    ...advise('records', lists, 'of these has the records of the audit trail, add'),
    ...(isMissingHeader(accessToken, response)
      ? [MISSING_HEADER]
      : [
          ...advise('accessToken', suggestAccessToken(response)),
          ...(texts === '' ? [] : formatSentence(`  Texts in the response: ${texts}.`)),
        ]),
    ...adviseDeletion(response),
  ];
}

/** Reports what the response to a deletion means by the contract. */
function reportDeletion(
  response: UpstreamResponse,
  configured: ConfiguredContract,
): readonly string[] {
  const { result, at } = readDeletion(response, configured, '');
  return formatSentence(`The response to a deletion means ${result}: ${formatSource(at)}.`, '');
}

/** Names a code that is not understood, or that says that the request failed, and how to say what it means. */
function adviseErrors(
  response: UpstreamResponse,
  operation: 'login' | 'read',
  { errors }: ConfiguredContract,
): readonly string[] {
  const { says, by, at } = judge(response, { operation, errors });
  if (by !== 'member' || says === 'DONE') return [];
  const lines = at.flatMap((pointer) => {
    const value = compilePointer(pointer)(response.body);
    if (typeof value !== 'number' && typeof value !== 'boolean') return [];
    const contract = { errors: { at: pointer, map: { [String(value)]: null } } };
    return [
      { contract, describe: () => (says === 'UNKNOWN' ? 'not understood' : `read as ${says}`) },
    ];
  });
  return lines.length === 0 ? [] : [...formatSentence(ERRORS), ...formatReadyLines(lines)];
}

const ERRORS =
  '  One of these says whether the request failed. If this response is no failure, add it to the contract, with the code of each other value:';

/** Names what decides if a response is that to a deletion, and how to say what it means. */
function adviseDeletion(response: UpstreamResponse): readonly string[] {
  const { lines, texts } = suggestDeletion(response);
  const [text] = texts;
  return [
    ...(lines.length === 0 ? [] : [...formatSentence(DELETION), ...formatReadyLines(lines)]),
    ...(text === undefined
      ? []
      : formatSentence(
          `  If it is the response to a deletion, ${texts.length === 1 ? 'this text decides' : 'these texts decide'}: ${texts.join(', ')}. To say what it means, set deletion.outcome in the contract: {"at": "${text}", "map": {…}}, with each text that it may have as a key.`,
        )),
  ];
}

const DELETION =
  '  If it is the response to a deletion, one of these decides. Add it with what it means (DELETED, ACCEPTED, NOT_FOUND or FAILED), and each other value that it may have:';

const ROWS_OF_VALUES =
  '  It has rows of values, whose names are elsewhere. A contract reads a value by its index in the row, such as "/2".';

const MISSING_HEADER =
  '  The contract reads the access token from a header: add the headers of the response with --headers.';

/** Whether the contract reads a field from a header, and the response has no such header. */
function isMissingHeader(source: Source, { headers }: UpstreamResponse): boolean {
  const isHeader = source !== null && typeof source === 'object' && 'header' in source;
  return isHeader && headers[source.header.toLowerCase()] === undefined;
}

/** Without a refresh token, each login needs the client secret. */
function adviseRefreshToken(lines: readonly ReadyLine[]): readonly string[] {
  const sentence = '  No refresh token was found: each login needs the client secret.';
  if (lines.length === 0) return [sentence];
  return [`${sentence} If one is right, add it to the contract:`, ...formatReadyLines(lines)];
}

/** An expiry in the wrong zone is wrong by hours. */
function adviseExpiry(lines: readonly ReadyLine[]): readonly string[] {
  const isAssumed = lines.some(({ contract }) => JSON.stringify(contract).includes('"zone"'));
  if (!isAssumed) return advise('expires', lines);
  const sentence = `  expires is null. Perhaps one is right: then add it to the contract, and replace UTC by the zone of the service:`;
  return [...formatSentence(sentence), ...formatReadyLines(lines)];
}

function advise(
  entry: string,
  lines: readonly ReadyLine[],
  condition = 'is right, add it',
): readonly string[] {
  if (lines.length === 0) return [];
  return [`  ${entry} is null. If one ${condition} to the contract:`, ...formatReadyLines(lines)];
}
