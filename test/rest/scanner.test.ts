import { describe, expect, it } from 'vitest';
import { createScanner } from '../../src/rest/scanner.ts';

describe('a scanner', () => {
  it.each<readonly [string, readonly number[], string]>([
    ['[{}, [], 1, "]", {"a": [{}]}]', [0], '[{}] [{}, []] [{}, [], 1, "]", {"a": [{}]}]'],
    [
      '{"a": [{}], "b": [[1], {}]}',
      [1],
      '{"a": [{}]} {"a": [{}], "b": [[1]]} {"a": [{}], "b": [[1], {}]}',
    ],
    ['{"a": {"b": [{}]}, "c": [{}]}', [2], '{"a": {"b": [{}]}}'],
    ['{"a": [{"b": [{}]}]}', [2], ''],
    ['{"a": [{}], "b": {"c": {}}}', [1], '{"a": [{}]}'],
    ['{"a": {"b": {}}, "c": [{}]}', [1], '{"a": {"b": {}}, "c": [{}]}'],
    ['[[{}]]', [1], ''],
    [
      String.raw`{"a\\": ["\"[{", {"\\\"{": "}]\u005d\\"}]}`,
      [1],
      String.raw`{"a\\": ["\"[{", {"\\\"{": "}]\u005d\\"}]}`,
    ],
    ['{"a": 1}', [0, 1], ''],
  ])('of %s at depth %j cuts behind each object and list', (text, depths, expected) => {
    for (let size = 1; size <= text.length; size += 1) {
      const scanner = createScanner(depths);
      const cuts: string[] = [];
      for (let start = 0; start < text.length; start += size) {
        const piece = Buffer.from(text.slice(start, start + size));
        for (let at = scanner.next(piece, 0); at >= 0; at = scanner.next(piece, at))
          cuts.push(text.slice(0, start + at) + scanner.brackets());
      }
      expect(cuts.join(' ')).toBe(expected);
    }
  });
});
