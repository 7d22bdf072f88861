import { GatewayError } from '../errors.ts';

/**
 * Creates a function that counts a subscription until its result is disposed of.
 * @throws GatewayError OVERLOADED if there are already `max` of them.
 */
export function createSubscriptionLimit(max: number): () => Disposable {
  let count = 0;
  return () => {
    if (count >= max) throw new GatewayError('OVERLOADED', { message: TOO_MANY });
    count += 1;
    return {
      [Symbol.dispose]: () => {
        count -= 1;
      },
    };
  };
}

const TOO_MANY =
  'The gateway has as many subscriptions as MAX_SUBSCRIPTIONS allows: try again later, or on another replica.';
