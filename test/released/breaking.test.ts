import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { findBreaks, findUndeclared } from './breaking.ts';

const RELEASED = readFileSync(new URL('schema.graphql', import.meta.url), 'utf8');

/** Returns the released schema with one line replaced. */
function change(line: string, replacement: string): string {
  expect(RELEASED.split(line)).toHaveLength(2);
  return RELEASED.replace(line, replacement);
}

const BREAKING: readonly (readonly [string, string, string])[] = [
  ['  userAgent: String\n', '  agent: String\n', 'AuditEvent.userAgent was removed.'],
  [
    '    filter: AuditFilter\n',
    '    filter: AuditFilter!\n',
    'Query.audit arg filter has changed type from AuditFilter to AuditFilter!.',
  ],
  [
    '    filter: AuditFilter\n',
    '    filter: AuditFilter\n    tenant: ID!\n',
    'A required arg tenant on Query.audit was added.',
  ],
  [
    '  totalCount: Int\n',
    '  totalCount: String\n',
    'AuditEventConnection.totalCount changed type from Int to String.',
  ],
  [
    '  accessToken: String!\n',
    '  accessToken: String\n',
    'LoginPayload.accessToken changed type from String! to String.',
  ],
  [
    'type ApiKey @key(fields: "clientId") {',
    'type ApiKey {',
    'ApiKey lost @key(fields: "clientId").',
  ],
  ['type PageInfo @shareable {', 'type PageInfo {', 'PageInfo lost @shareable.'],
  ['input LoginCredential @oneOf {', 'input LoginCredential {', 'LoginCredential lost @oneOf.'],
  [
    '  userAgent: String\n',
    '  userAgent: String @inaccessible\n',
    'AuditEvent.userAgent became @inaccessible.',
  ],
  [
    'enum DeletionOutcome {',
    'enum DeletionOutcome @inaccessible {',
    'DeletionOutcome became @inaccessible.',
  ],
  [
    'input UpstreamParameter {',
    'input UpstreamParameter @oneOf {',
    'UpstreamParameter became @oneOf.',
  ],
];

const NOT_BREAKING: readonly (readonly [string, string])[] = [
  ['  userAgent: String\n', '  userAgent: String!\n'],
  ['  userAgent: String\n', '  userAgent: String\n  more: Int\n'],
  ['    filter: AuditFilter\n', '    filter: AuditFilter\n    tenant: ID\n'],
];

describe('a schema change', () => {
  it('of a default value is breaking', () => {
    const current = RELEASED.replaceAll('first: Int = 50', 'first: Int = 100');
    expect(findBreaks(RELEASED, current).toSorted()).toEqual(
      ['ApiKey', 'Query'].map(
        (type) => `${type}.audit arg first has changed defaultValue from 50 to 100.`,
      ),
    );
  });

  it.each(BREAKING)('from %j to %j is breaking: %s', (line, replacement, expected) => {
    const breaks = findBreaks(RELEASED, change(line, replacement));
    expect(breaks).toEqual([expected]);
    expect(findUndeclared(breaks, '# Changelog\n\n## Unreleased\n\n- Other.\n')).toEqual(breaks);
  });

  it.each(NOT_BREAKING)('from %j to %j is not breaking', (line, replacement) => {
    expect(findBreaks(RELEASED, change(line, replacement))).toEqual([]);
  });

  it.each([
    ['under Unreleased', '## Unreleased\n\n- Breaking: `A.b` was\n  removed. Use c.\n', []],
    ['without “Breaking:”', '## Unreleased\n\n- `A.b` was removed.\n', ['A.b was removed.']],
    ['for another field', '## Unreleased\n\n- Breaking: A.c was removed.\n', ['A.b was removed.']],
    ['in bold', '## Unreleased\n\n* **Breaking:** `A.b` was removed.\n', []],
    ['for a longer name', '## Unreleased\n\n- Breaking: AA.b was removed.\n', ['A.b was removed.']],
    [
      'negated',
      '## Unreleased\n\n- Breaking: it is not so that A.b was removed.\n',
      ['A.b was removed.'],
    ],
    [
      'without an Unreleased section',
      '## 0.1.0\n\n- Breaking: A.b was removed.\n',
      ['A.b was removed.'],
    ],
    [
      'in an earlier release',
      '## Unreleased\n\n- Other.\n\n## 0.1.0\n\n- Breaking: A.b was removed.\n',
      ['A.b was removed.'],
    ],
  ])('is declared only by a Breaking item under Unreleased: %s', (_, changelog, expected) => {
    expect(findUndeclared(['A.b was removed.'], `# Changelog\n\n${changelog}`)).toEqual(expected);
  });
});
