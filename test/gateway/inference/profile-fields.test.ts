import { describe, expect, it } from 'vitest';
import { profileFields } from '../../../src/gateway/inference/profile-fields.ts';

const summarize = (...args: Parameters<typeof profileFields>) =>
  profileFields(...args).map(({ pointer, path, values }) => [pointer, path, values]);

describe('profileFields', () => {
  it('lists each field once, with the values of all records', () => {
    const records = [
      { id: 1, actor: { displayName: 'Ann' } },
      { id: 2, at: null, actor: {} },
    ];
    expect(summarize(records)).toEqual([
      ['/id', 'id', [1, 2]],
      ['/actor/displayName', 'actor/display name', ['Ann']],
    ]);
  });

  it('takes the first item of an array, which shares a field with a member named 0', () => {
    expect(summarize([{ tags: ['a', 'b'] }, { tags: { 0: 'c' } }, { tags: [] }])).toEqual([
      ['/tags/0', 'tag', ['a', 'c']],
    ]);
  });

  it('adds no name to the path for keys that only wrap a value', () => {
    expect(summarize([{ id: { $oid: 'x' }, value: 1 }])).toEqual([
      ['/id/$oid', 'id', ['x']],
      ['/value', 'value', [1]],
    ]);
  });

  it('treats special keys of JavaScript like any other', () => {
    const record: unknown = JSON.parse('{"__proto__": {"constructor": 1}, "toString": 2}');
    expect(profileFields([record]).map(({ pointer }) => pointer)).toEqual([
      '/__proto__/constructor',
      '/toString',
    ]);
  });

  it('stops at 1000 fields, and takes 100 members of an object that has more', () => {
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${index}`, true]));
    expect(profileFields([many(1000)])).toHaveLength(1000);
    expect(profileFields([{ a: many(990), b: many(20) }])).toHaveLength(1000);
    expect(profileFields([many(1001)])).toHaveLength(100);
    const body = { records: many(1000), envelope: many(20) };
    expect(profileFields([body], { exclude: '/records' })).toHaveLength(20);
  });

  it('stops after the value that is sufficient', () => {
    const stopWhen = (value: unknown) => value === 2;
    expect(summarize([{ a: 1, b: 2, c: 3 }, { a: 4 }], { stopWhen })).toEqual([
      ['/a', 'a', [1]],
      ['/b', 'b', [2]],
    ]);
  });
});
