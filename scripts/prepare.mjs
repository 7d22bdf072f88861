// `prepare` builds the package, and `prepack` fails if that is impossible: `npm ci --omit=dev` installs no bundler.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const hasBundler = existsSync('node_modules/rolldown');

if (process.env.npm_lifecycle_event === 'prepack') {
  if (!hasBundler) {
    process.stderr.write('The package is not built: run npm ci, then npm pack\n');
    process.exitCode = 1;
  }
} else if (hasBundler) {
  // A shell finds npm on Windows, where it is no executable. The table of files that were built is of no interest here.
  const stdio = ['ignore', 'pipe', 'inherit'];
  const { status, stdout } = spawnSync('npm run --silent build', { shell: true, stdio });
  if (status !== 0) process.stdout.write(stdout);
  process.exitCode = status ?? 1;
}
