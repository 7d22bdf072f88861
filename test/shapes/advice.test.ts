import { describe, expect, it } from 'vitest';
import { adviseAll } from './advice.ts';
import { measureLines } from './suggested-lines.ts';

const advised = await adviseAll();
const describeAdvice = ({ name, after, contract }: (typeof advised)[number]) =>
  `${name}: ${after.join('; ')} with ${JSON.stringify(contract)}`;

describe('the lines of learn, for vendors that the weights have not seen', () => {
  const { nulls, withLine, firstRight, values, wrong, misses } = measureLines();

  it('are there for 97 % of the nulls whose value the records have', () => {
    expect(nulls).toBeGreaterThan(100);
    expect(withLine / nulls, misses.join('\n')).toBeGreaterThanOrEqual(0.97);
  });

  it('are right, the first ones, for 70 % of them', () => {
    expect(firstRight / nulls, misses.join('\n')).toBeGreaterThanOrEqual(0.7);
  });

  it('make at most 0.5 % of the values wrong, unless they say "perhaps"', () => {
    expect(wrong / values, misses.join('\n')).toBeLessThanOrEqual(0.005);
  });
});

it('a program that follows the advice of learn reads at least 40 % of the samples that are not read without', () => {
  const incomplete = advised.filter(({ before }) => before.length > 0);
  const rest = incomplete.filter(({ after }) => after.length > 0);
  expect(incomplete.length).toBeGreaterThan(0);
  expect(rest.length / incomplete.length, rest.map(describeAdvice).join('\n')).toBeLessThanOrEqual(
    0.6,
  );
});

it('the advice of learn makes values of at most 1 % of the samples worse', () => {
  const isNew = (miss: string, before: readonly string[]) => !before.includes(miss);
  const worse = advised.filter(({ before, after }) => after.some((miss) => isNew(miss, before)));
  expect(worse.length / advised.length, worse.map(describeAdvice).join('\n')).toBeLessThanOrEqual(
    0.01,
  );
});
