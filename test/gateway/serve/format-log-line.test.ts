import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatLogLine, type LogEntry } from '../../../src/gateway/serve/format-log-line.ts';

const TIME = new Date(2026, 10, 21, 9, 8, 7); // local time
const UUID = '0fd7ffe8-0f56-42c8-86b8-a8b9637b3023';
const AUDIT = { operation: 'query', fields: 'audit', status: 200, durationMs: 12 };

const format = (record: object, message = 'request', level: LogEntry['level'] = 'info') =>
  formatLogLine({ time: TIME, level, record, message }, false);

describe('a line of the log in a terminal', () => {
  it('has its columns at the same place, whatever failed', () => {
    const failure = { codes: 'UPSTREAM_UNAVAILABLE', cause: 'ECONNREFUSED' };
    const wrong = { method: 'GET', route: '/*', status: 404, codes: 'BAD_REQUEST' };
    const bad = { codes: 'UPSTREAM_BAD_RESPONSE', reason: 'CONTENT_ENCODING' };
    expect([
      format({ requestId: UUID, ...AUDIT }),
      format({ requestId: UUID, ...AUDIT, ...failure, durationMs: 10_003.2 }, 'request', 'warn'),
      format({ requestId: UUID, ...AUDIT, ...bad, fields: 'audit,__typename' }, 'request', 'warn'),
      format({ requestId: UUID, ...wrong, durationMs: 0.4 }),
    ]).toEqual([
      '09:08:07 INFO  query audit            200                                           12.0 ms 0fd7ffe8',
      '09:08:07 WARN  query audit            200 UPSTREAM_UNAVAILABLE ECONNREFUSED      10003.2 ms 0fd7ffe8',
      '09:08:07 WARN  query audit,__typename 200 UPSTREAM_BAD_RESPONSE CONTENT_ENCODING    12.0 ms 0fd7ffe8',
      '09:08:07 INFO  GET /*                 404 BAD_REQUEST                                0.4 ms 0fd7ffe8',
    ]);
  });

  it('is cut where it does not fit', () => {
    const fields = 'audit,_entities,_service';
    const failure = { codes: 'UPSTREAM_UNAVAILABLE', cause: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' };
    expect(format({ requestId: UUID, ...AUDIT, ...failure, fields }, 'request', 'warn')).toBe(
      '09:08:07 WARN  query audit,_entities… 200 UPSTREAM_UNAVAILABLE UNABLE_TO_VERIFY…    12.0 ms 0fd7ffe8',
    );
  });

  it.each([
    [UUID, '0fd7ffe8'],
    ['r1', 'r1'],
    ['router-7f3a', 'router-7f3a'],
    ['1-67891233-abcdef012345678912345678', '1-67891233-abcdef01…'],
  ])('ends with the ID %s as %s', (requestId, shown) => {
    const line = format({ requestId, ...AUDIT, codes: 'PERSISTED_QUERY_NOT_SUPPORTED' });
    expect(line.endsWith(` 12.0 ms ${shown}`)).toBe(true);
    expect(line).toContain(' PERSISTED_QUERY_NOT');
  });

  it('shows that the client disconnected', () => {
    expect(format({ requestId: UUID, ...AUDIT, aborted: true })).toContain(' 200 ABORTED ');
  });

  it('has the message of an event, and its values', () => {
    const lost = 'Redis does not respond: each replica counts its own logins';
    expect(format({}, lost, 'warn')).toBe(`09:08:07 WARN  ${lost}`);
    const drift = { responses: { 'audit.total': 2, 'audit.event.id': 1 } };
    expect(format(drift, 'contract entries matched nothing in a response', 'warn')).toBe(
      '09:08:07 WARN  contract entries matched nothing in a response: audit.total 2, audit.event.id 1',
    );
  });

  it('is followed by the stack of a bug, each frame with its file and line', () => {
    const path = `file:///srv/${'folder/'.repeat(20)}dist/index.js:12:34`;
    const at = `at now (${path}) < at run (node:vm:1:2)`;
    const [line, ...frames] = format(
      { requestId: UUID, bug: 'RangeError', at },
      'bug',
      'error',
    ).split('\n');
    expect(line).toMatch(/^09:08:07 ERROR bug: RangeError {62}0fd7ffe8$/);
    expect(frames).toEqual([
      expect.stringMatching(/^ {4}….{75}dist\/index\.js:12:34\)$/),
      '    at run (node:vm:1:2)',
    ]);
  });

  it('has at most 100 columns and no control character, whatever the record contains', () => {
    const value = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.string({ maxLength: 200 }),
      fc.double(),
      fc.jsonValue(),
    );
    const known = fc.record(
      Object.fromEntries(
        [
          ...['operation', 'fields', 'method', 'route', 'status', 'aborted', 'codes', 'reason'],
          ...['cause', 'durationMs', 'requestId', 'bug', 'at', 'responses'],
        ].map((name) => [name, value]),
      ),
      { requiredKeys: [] },
    );
    const entries = fc.record({
      time: fc.date(),
      level: fc.constantFrom('info', 'warn', 'error'),
      record: fc.oneof(known, fc.dictionary(fc.string({ unit: 'binary' }), value)),
      message: fc.oneof(fc.constantFrom('request', 'bug'), fc.string({ unit: 'binary' })),
    });
    fc.assert(
      fc.property(entries, (entry) => {
        const text = formatLogLine(entry, false);
        const lines = text.split('\n');
        for (const line of lines) expect(line).toMatch(/^[\x20-\x7e…]{1,100}$/);
        if (!('at' in entry.record)) expect(lines).toHaveLength(1);
        expect(stripVTControlCharacters(formatLogLine(entry, true))).toBe(text);
      }),
      { numRuns: 500 },
    );
  });
});
