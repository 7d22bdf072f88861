// `prepare` builds the package, if that is possible: `npm ci --omit=dev` installs no bundler. `prepack` fails if it is not,
// and takes the scripts out of the manifest until `postpack`: npm warns whoever installs a package with `prepare`.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

const MANIFEST = 'package.json';
const KEPT = '.package.json';

const event = process.env.npm_lifecycle_event;
if (event === 'postpack') renameSync(KEPT, MANIFEST);
else if (existsSync('node_modules/rolldown')) {
  // A shell finds npm on Windows, where it is no executable. The table of files that were built is of no interest here.
  const stdio = ['ignore', 'pipe', 'inherit'];
  const { status, stdout } = spawnSync('npm run --silent build', { shell: true, stdio });
  if (status !== 0) process.stdout.write(stdout);
  process.exitCode = status ?? 1;
  if (event === 'prepack' && status === 0) {
    const { scripts: _, ...manifest } = JSON.parse(readFileSync(MANIFEST, 'utf8'));
    renameSync(MANIFEST, KEPT);
    writeFileSync(MANIFEST, `${JSON.stringify(manifest, null, 2)}\n`);
  }
} else if (event === 'prepack') {
  process.stderr.write('The package is not built: run npm ci, then npm pack\n');
  process.exitCode = 1;
}
