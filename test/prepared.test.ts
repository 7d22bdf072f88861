import { describe, expect, it } from 'vitest';
import { documentsOfTheSuite } from './helpers/documents.ts';
import { compareWays, VARIABLES } from './helpers/ways.ts';

describe('a request that was asked before', () => {
  it('is answered as at first, with every document of the suite', async () => {
    const documents = documentsOfTheSuite();
    expect(documents.length).toBeGreaterThan(60);
    const prepared = await compareWays(documents.map((query) => ({ query, variables: VARIABLES })));
    expect(prepared).toBeGreaterThan(50);
  });
});
