import { readdirSync, readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createContractJsonSchema } from '../../../src/gateway/config/contract-json-schema.ts';
import { checkContract } from '../../../src/gateway/config/contract-schema.ts';

const SCHEMA = createContractJsonSchema();
const isValid = new Ajv().compile(SCHEMA);
const ROOT = new URL('../../../', import.meta.url);
const read = (path: string): unknown => JSON.parse(readFileSync(new URL(path, ROOT), 'utf8'));

/** Every entry once. */
const FULL: unknown = {
  $schema: './contract.schema.json',
  login: {
    accessToken: { header: 'x-auth-token' },
    refreshToken: ['/refresh', '/data/refresh'],
    tokenType: null,
    expires: { at: '/expires', as: { pattern: 'yyyy-MM-dd HH:mm' }, zone: 'UTC' },
  },
  audit: {
    records: '/items',
    total: '/total',
    paging: { style: 'page', next: '/next', start: 0, parameter: 'page', size: null },
    parameters: { since: 'from', until: 'to', actor: 'user', action: 'action' },
    event: {
      id: '/id',
      occurredAt: { at: ['/date', '/time'], join: 'T', as: 'iso8601', zone: 'Europe/Berlin' },
      action: { at: '/op', split: '.', part: 2, map: { D: 'delete' }, else: 'keep' },
      outcome: { at: ['/failed', '/status'], map: { true: 'FAILURE', A: 'SUCCESS' } },
      actor: {
        identifier: { at: '/who', split: ':', part: 2 },
        name: null,
        type: { at: '/kind', map: { 1: 'user' } },
        apiKey: true,
      },
      target: { identifier: '/what', name: ['/name'], type: '/type', apiKey: ['api_key'] },
      ipAddress: '/ip',
      userAgent: '/ua',
    },
  },
  deletion: {
    outcome: { at: ['/code'], split: ':', part: 1, map: { gone: 'DELETED', kept: 'FAILED' } },
  },
};

/** What a JSON Schema cannot express, by the messages of these problems. */
const NOT_EXPRESSIBLE =
  /must be a time zone: |is only for iso8601|zone: must be set|last: must be set|must have a year|needs a list of pointers|has the name of a flag/;

/** Paths of all members of a value. */
function pathsOf(value: unknown): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [[]];
  const members = Object.entries(value);
  return [[], ...members.flatMap(([key, member]) => pathsOf(member).map((path) => [key, ...path]))];
}

/** A copy in which one member is another value. */
function replace(value: unknown, [key, ...rest]: readonly string[], by: unknown): unknown {
  if (key === undefined) return by;
  if (Array.isArray(value))
    return value.map((item, index) => (String(index) === key ? replace(item, rest, by) : item));
  const members: Readonly<Record<string, unknown>> = Object(value);
  return { ...members, [key]: replace(members[key], rest, by) };
}

function expectAgreement(contract: unknown): void {
  const checked = checkContract(contract);
  const problems =
    'problems' in checked ? checked.problems.filter((one) => !NOT_EXPRESSIBLE.test(one)) : [];
  expect({ contract, isValid: isValid(contract) }).toEqual({
    contract,
    isValid: problems.length === 0,
  });
}

describe('the JSON Schema of the contract', () => {
  it('describes every entry', () => {
    const undescribed = (schema: object, name: string): readonly string[] =>
      Object.entries(schema).flatMap(([key, value]) => {
        if (typeof value !== 'object' || value === null) return [];
        if (key !== 'properties') return undescribed(value, name);
        return Object.entries<object>(value).flatMap(([entry, member]) => [
          ...('description' in member ? [] : [`${name}.${entry}`]),
          ...undescribed(member, `${name}.${entry}`),
        ]);
      });
    expect(undescribed(SCHEMA, '')).toEqual([]);
  });

  const shapes = 'test/fixtures/shapes';
  const contracts = ['audit', 'login'].flatMap((kind) =>
    readdirSync(new URL(`${shapes}/${kind}`, ROOT))
      .filter((name) => name.endsWith('.contract.json'))
      .map((name) => `${shapes}/${kind}/${name}`),
  );
  it.each(['examples/contract/contract.json', ...contracts])('accepts %s', (path) => {
    expect(isValid(read(path)), JSON.stringify(isValid.errors)).toBe(true);
  });

  it.each([
    { login: { acessToken: '/a' } },
    { login: { accessToken: 'a' } },
    { login: { accessToken: { header: 'a b' } } },
    { login: { expires: { at: '/a', as: 'fortnights' } } },
    { audit: { records: ['/a'] } },
    { audit: { paging: { style: 'scroll' } } },
    { audit: { event: { outcome: { at: '/a', map: { A: 'OK' } } } } },
    { audit: { event: { outcome: { at: '/a', map: {} } } } },
    { audit: { event: { action: { at: '/a', map: { A: 1 } } } } },
    { audit: { event: { outcome: { at: '/a', map: { A: 'SUCCESS' }, else: 'keep' } } } },
    { audit: { event: { action: { at: '/a', map: { A: 'b' }, else: 'drop' } } } },
    { audit: { event: { action: { at: '/a', else: 'keep' } } } },
    { audit: { event: { action: { at: '/a', split: ':' } } } },
    { audit: { event: { action: { at: '/a', part: 1 } } } },
    { audit: { event: { action: { at: '/a', split: ':', part: 1, else: 'keep' } } } },
    { audit: { event: { actor: { identifier: { at: '/a', split: ':', part: 0 } } } } },
    { audit: { event: { actor: { name: { at: '/a', split: '', part: 1 } } } } },
    { audit: { event: { actor: { apiKey: false } } } },
    { audit: { event: { actor: { apiKey: 'api_key' } } } },
    { audit: { event: { target: { apiKey: [] } } } },
    { audit: { event: { occurredAt: { at: '/a', as: 'iso8601-utc' } } } },
    { audit: { event: { occurredAt: { at: '/a', as: 'iso8601', zone: 1 } } } },
    [],
  ])('refuses %j, as Keytrail does', (contract) => {
    expect(isValid(contract)).toBe(false);
    expect(checkContract(contract)).toHaveProperty('problems');
  });

  it('accepts a contract with every entry, and agrees with Keytrail on each change of one', () => {
    expect(checkContract(FULL)).toHaveProperty('contract');
    expectAgreement(FULL);
    const text = fc.constantFrom('', '/a', 'a', 'UTC', 'iso8601', 'jwt', 'FAILURE', '/is_failure');
    const value = fc.oneof(text, fc.jsonValue({ maxDepth: 2 }), fc.array(text, { maxLength: 2 }));
    fc.assert(
      fc.property(fc.constantFrom(...pathsOf(FULL)), value, (path, by) => {
        expectAgreement(replace(FULL, path, by));
        expectAgreement(replace(FULL, [...path, 'other'], by));
      }),
      { numRuns: 1000 },
    );
  });
});
