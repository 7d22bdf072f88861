import { defineConfig } from 'vitest/config';
import base from './vitest.config.ts';

/** `npm run test:browser`: apart from `npm test`, which needs no browser. */
export default defineConfig({
  test: { ...base.test, include: ['test/browser/**/*.test.ts'], exclude: [], testTimeout: 90_000 },
});
