import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/browser/**'],
    // Node runs the sources as it does in production; Vite's runner would load a second copy of graphql.
    experimental: { viteModuleRunner: false },
    // A test that leaves a server open shows as a hang here, not as a pass.
    testTimeout: 15_000,
  },
});
