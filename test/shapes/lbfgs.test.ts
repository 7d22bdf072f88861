import fc from 'fast-check';
import { expect, it } from 'vitest';
import { minimize } from './lbfgs.ts';

const DIMENSIONS = 6;

const vector = (min: number, max: number) =>
  fc.array(fc.double({ min, max, noNaN: true }), {
    minLength: DIMENSIONS,
    maxLength: DIMENSIONS,
  });

it('finds the minimum of a quadratic function', () => {
  fc.assert(
    fc.property(vector(-9, 9), vector(0.1, 10), vector(-1, 1), (minimum, curvatures, slant) => {
      // sum of c·d² + (s·d)², where d is the distance from the minimum
      const found = minimize((point, gradient) => {
        const distance = minimum.map((one, i) => (point[i] ?? 0) - one);
        const along = distance.reduce((sum, one, i) => sum + one * (slant[i] ?? 0), 0);
        for (const [i, c] of curvatures.entries())
          gradient[i] = 2 * c * (distance[i] ?? 0) + 2 * along * (slant[i] ?? 0);
        return distance.reduce((sum, one, i) => sum + (curvatures[i] ?? 0) * one ** 2, along ** 2);
      }, new Float64Array(DIMENSIONS));
      for (const [i, one] of minimum.entries()) expect(found[i]).toBeCloseTo(one, 3);
    }),
  );
});

it('gives the same point for the same function', () => {
  const run = () =>
    minimize((point, gradient) => {
      gradient[0] = Math.exp(point[0] ?? 0) - 2;
      return Math.exp(point[0] ?? 0) - 2 * (point[0] ?? 0);
    }, new Float64Array(1));
  expect(run()).toEqual(run());
  expect(run()[0]).toBeCloseTo(Math.log(2), 3);
});
