import { expect, it } from 'vitest';
import { judge, measure } from './table.ts';

it('published shapes of real services are read as their samples say', async () => {
  const { scores, misses } = await measure();
  expect(judge(scores), misses.join('\n')).toEqual([]);
});
