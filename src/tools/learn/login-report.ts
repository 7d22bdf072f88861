import type { LoginContract, Source } from '../../mapping/contract.ts';
import { readSource } from '../../mapping/json-pointer.ts';
import type { UpstreamResponse } from '../../upstream/types.ts';
import { escapeUnprintable } from '../../util/escape-unprintable.ts';
import { wrap } from '../../util/wrap.ts';
import { formatReadyLines } from './contract-lines.ts';
import {
  type LoginSuggestion,
  listTexts,
  suggestAccessToken,
  suggestExpiry,
  suggestRefreshToken,
} from './suggest-login.ts';

/** Of the lines that continue another. */
const INDENT = '    ';

/** Reports where the fields of a response to a login are read from. It never shows a value of a text. */
export function reportLogin(response: UpstreamResponse, login: LoginContract): readonly string[] {
  const rows = [
    ['accessToken', login.accessToken],
    ['refreshToken', login.refreshToken],
    ['tokenType', login.tokenType],
    ['expires', login.expires?.at ?? null],
  ] as const;
  return [
    'The login response has an access token:',
    '',
    ...rows.map(([name, source]) =>
      escapeUnprintable(`  ${name.padEnd(12)}  ${describeSource(source, response)}`),
    ),
    '',
    ...(login.refreshToken === null ? advise('refreshToken', suggestRefreshToken(response)) : []),
    ...(login.expires === null ? advise('expires', suggestExpiry(response)) : []),
  ];
}

/** Reports the texts of a response that may be one to a login, and which of them may be the access token. */
export function reportTexts(
  response: UpstreamResponse,
  configured: Source = null,
): readonly string[] {
  if (isMissingHeader(configured, response))
    return [
      '  The contract reads the access token from a header: add the headers of the response with --headers.',
    ];
  const texts = listTexts(response);
  return [
    ...advise('accessToken', suggestAccessToken(response)),
    ...(texts.length === 0
      ? []
      : wrap(escapeUnprintable(`  Texts in the response: ${texts.join(', ')}.`), INDENT)),
  ];
}

/** Whether the contract reads a field from a header, and the response has no such header. */
function isMissingHeader(source: Source, { headers }: UpstreamResponse): boolean {
  const isHeader = source !== null && typeof source === 'object' && 'header' in source;
  return isHeader && headers[source.header.toLowerCase()] === undefined;
}

function advise(entry: string, suggestions: readonly LoginSuggestion[]): readonly string[] {
  if (suggestions.length === 0) return [];
  return [
    `  ${entry} is null. If one is right, add it to the contract:`,
    ...formatReadyLines(
      suggestions.map(({ contract, note }) => ({ contract: { login: contract }, note })),
    ),
  ];
}

function describeSource(source: Source, response: UpstreamResponse): string {
  if (source === null) return '-';
  const value = readSource(source, response);
  const length = typeof value === 'string' ? ` (${value.length} characters)` : '';
  const isHeader = typeof source === 'object' && 'header' in source;
  if (isHeader) return `header ${source.header}${length}`;
  return `${[source].flat().join(', ') || 'the body'}${length}`;
}
