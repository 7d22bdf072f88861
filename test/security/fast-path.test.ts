import { expect, it } from 'vitest';
import { createSchema } from '../../src/gateway/create-schema.ts';
import { compareBothPaths } from '../helpers/both-paths.ts';
import { generateRequest } from '../helpers/documents.ts';
import { createRandom } from '../helpers/random.ts';

it('2,000 random requests get the same bytes on the fast path as from Yoga’s pipeline, and send the service the same', async () => {
  const schema = createSchema();
  const random = createRandom(20_261_121);
  const prepared = await compareBothPaths(
    Array.from({ length: 2000 }, () => generateRequest(schema, random)),
  );
  expect(prepared).toBeGreaterThan(500);
});
