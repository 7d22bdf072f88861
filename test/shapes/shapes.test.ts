import { expect, it } from 'vitest';
import { judge, measure } from './table.ts';

it('reads the published responses of real services as expected', async () => {
  const { scores, misses } = await measure();
  expect(judge(scores), misses.join('\n')).toEqual([]);
});
