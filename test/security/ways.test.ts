import { expect, it } from 'vitest';
import { createSchema } from '../../src/schema.ts';
import { makeUp } from '../helpers/documents.ts';
import { createRandom } from '../helpers/random.ts';
import { compareWays } from '../helpers/ways.ts';

it('2,000 requests of any kind are answered the same by both ways, and send the service the same', async () => {
  const schema = createSchema();
  const random = createRandom(20_261_121);
  const prepared = await compareWays(Array.from({ length: 2000 }, () => makeUp(schema, random)));
  expect(prepared).toBeGreaterThan(500);
}, 120_000);
