import { expect, it } from 'vitest';
import { adviseAll } from './advice.ts';

const advised = (await adviseAll()).filter(({ verified }) => verified);
const describe = ({ name, after, contract }: (typeof advised)[number]) =>
  `${name}: ${after.join('; ')} with ${JSON.stringify(contract)}`;

it('a program that follows the advice of learn reads at least 40 % of the samples that are not read without', () => {
  const incomplete = advised.filter(({ before }) => before.length > 0);
  const rest = incomplete.filter(({ after }) => after.length > 0);
  expect(incomplete.length).toBeGreaterThan(0);
  expect(rest.length / incomplete.length, rest.map(describe).join('\n')).toBeLessThanOrEqual(0.6);
});

it('the advice of learn breaks at most 5 % of the samples that are read without', () => {
  const complete = advised.filter(({ before }) => before.length === 0);
  const broken = complete.filter(({ after }) => after.length > 0);
  expect(broken.length / complete.length, broken.map(describe).join('\n')).toBeLessThanOrEqual(
    0.05,
  );
});
