/** A function to minimize: returns its value at a point, and writes its gradient there. */
export type Objective = (point: Float64Array, gradient: Float64Array) => number;

/** Steps that the approximation of the curvature remembers. */
const MEMORY = 10;

/** Ends when a step improves the value by less than this part of it. */
const TOLERANCE = 1e-6;

type Step = { readonly move: Float64Array; readonly change: Float64Array; readonly rho: number };

/**
 * Minimizes a convex function: L-BFGS with a line search that halves the step (Nocedal and Wright, Numerical
 * Optimization, chapter 7). Deterministic.
 */
export function minimize(objective: Objective, start: Float64Array, maxSteps = 200): Float64Array {
  let point = start;
  let gradient = new Float64Array(start.length);
  let value = objective(point, gradient);
  const steps: Step[] = [];
  for (let count = 0; count < maxSteps; count += 1) {
    const direction = toDirection(gradient, steps);
    const slope = dot(gradient, direction);
    const next = new Float64Array(start.length);
    const nextGradient = new Float64Array(start.length);
    let size = steps.length > 0 ? 1 : 1 / Math.max(1, Math.sqrt(slope));
    let nextValue = 0;
    for (let halvings = 0; halvings < 30; halvings += 1, size /= 2) {
      for (let i = 0; i < next.length; i += 1) next[i] = at(point, i) - size * at(direction, i);
      nextValue = objective(next, nextGradient);
      if (nextValue <= value - 1e-4 * size * slope) break;
    }
    const move = next.map((one, i) => one - at(point, i));
    const change = nextGradient.map((one, i) => one - at(gradient, i));
    const curvature = dot(move, change);
    const isDone = Math.abs(value - nextValue) < TOLERANCE * Math.abs(value);
    [point, gradient, value] = [next, nextGradient, nextValue];
    if (isDone) break;
    if (curvature > 1e-10) steps.push({ move, change, rho: 1 / curvature });
    if (steps.length > MEMORY) steps.shift();
  }
  return point;
}

function toDirection(gradient: Float64Array, steps: readonly Step[]): Float64Array {
  const direction = gradient.slice();
  const factors = steps.toReversed().map(({ move, change, rho }) => {
    const factor = rho * dot(move, direction);
    add(direction, change, -factor);
    return factor;
  });
  const last = steps.at(-1);
  if (last !== undefined) {
    const scale = 1 / (last.rho * dot(last.change, last.change));
    for (let i = 0; i < direction.length; i += 1) direction[i] = at(direction, i) * scale;
  }
  for (const [index, { move, change, rho }] of steps.entries())
    add(direction, move, (factors.at(-1 - index) ?? 0) - rho * dot(change, direction));
  return direction;
}

function add(target: Float64Array, vector: Float64Array, factor: number): void {
  for (let i = 0; i < target.length; i += 1) target[i] = at(target, i) + factor * at(vector, i);
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += at(a, i) * at(b, i);
  return sum;
}

/** Every index is below the length. */
function at(vector: Float64Array, index: number): number {
  return vector[index] as number;
}
