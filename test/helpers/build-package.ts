import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Builds the package before the first test: examples import `keytrail/…`. */
export function setup(): void {
  execFileSync('node_modules/.bin/rolldown', ['-c', 'rolldown.config.ts'], { cwd: ROOT });
}
