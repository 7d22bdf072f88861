import { expect, it } from 'vitest';
import { adviseAll } from './advice.ts';

const advised = await adviseAll();
const describe = ({ name, after, contract }: (typeof advised)[number]) =>
  `${name}: ${after.join('; ')} with ${JSON.stringify(contract)}`;

it('a program that follows the advice of learn reads at least 60 % of the samples that are not read without', () => {
  const incomplete = advised.filter(({ before }) => before.length > 0);
  const rest = incomplete.filter(({ after }) => after.length > 0);
  expect(incomplete.length).toBeGreaterThan(0);
  expect(rest.length / incomplete.length, rest.map(describe).join('\n')).toBeLessThanOrEqual(0.4);
});

it('the advice of learn makes values of at most 1 % of the samples worse', () => {
  const isNew = (miss: string, before: readonly string[]) => !before.includes(miss);
  const worse = advised.filter(({ before, after }) => after.some((miss) => isNew(miss, before)));
  expect(worse.length / advised.length, worse.map(describe).join('\n')).toBeLessThanOrEqual(0.01);
});
