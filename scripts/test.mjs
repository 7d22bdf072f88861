// `npm test`: runs Vitest, or says which Node it needs.
import { NEEDED_NODE } from './needed-node.mjs';

if (NEEDED_NODE !== null) {
  process.stderr.write(NEEDED_NODE);
  process.exitCode = 1;
} else {
  process.argv.splice(2, 0, 'run', '--project', 'suite*');
  await import('../node_modules/vitest/vitest.mjs');
}
