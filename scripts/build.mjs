// Builds the packages and the command of the image into dist/. npm packs no folder without a manifest: those of the
// packages are removed first and written last, so nothing old and nothing half-built is packed.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { NEEDED_NODE } from './needed-node.mjs';

const STEPS = [
  ['rolldown/bin/cli.mjs', '-c', 'rolldown.config.ts'],
  ['typescript/bin/tsc', '-p', 'src'],
  ['typescript/bin/tsc', '-p', 'src/client'],
];

/** What of package.json is for a clone. npm warns whoever installs a package with the script `prepare`. */
const FOR_CLONE = [
  'private',
  'scripts',
  'devDependencies',
  'optionalDependencies',
  'devEngines',
  'allowScripts',
];

const root = JSON.parse(readFileSync('package.json', 'utf8'));
const { version, license, repository, homepage, bugs } = root;

const gateway = Object.entries(root).filter(([name]) => !FOR_CLONE.includes(name));

/** A client then installs one package instead of the 37 of the gateway. */
const client = {
  name: 'keytrail-client',
  version,
  description:
    'Typed operations of Keytrail, a GraphQL gateway, and a session that sends them and follows the audit trail.',
  keywords: ['keytrail', 'graphql', 'client', 'audit-log', 'audit-trail', 'api-keys'],
  license,
  ...{ repository, homepage, bugs }, // release.yml sets them
  type: 'module',
  sideEffects: false,
  exports: {
    '.': { types: './types/client/index.d.ts', default: './index.js' },
    './file': { types: './types/client/file-tokens.d.ts', default: './file.js' },
    './schema.graphql': './schema.graphql',
    './package.json': './package.json',
  },
  engines: { node: '>=20.3' }, // AbortSignal.any
};

/** By folder, with the files that are copied into it. */
const PACKAGES = {
  'dist/keytrail': {
    manifest: Object.fromEntries(gateway),
    copies: { 'README.md': 'README.md', LICENSE: 'LICENSE' },
  },
  'dist/keytrail-client': {
    manifest: client,
    copies: {
      'README.md': 'src/client/README.md',
      LICENSE: 'LICENSE',
      'LICENSE.eventsource-parser': 'node_modules/eventsource-parser/LICENSE',
    },
  },
};

function build() {
  for (const folder of Object.keys(PACKAGES)) rmSync(`${folder}/package.json`, { force: true });
  rmSync('dist', { recursive: true, force: true });
  for (const [program, ...args] of STEPS) {
    const command = [`node_modules/${program}`, ...args];
    // rolldown's table of files is of no interest.
    const stdio = ['ignore', 'pipe', 'inherit'];
    const { status, stdout } = spawnSync(process.execPath, command, { stdio });
    if (status !== 0) {
      process.stdout.write(stdout);
      return status ?? 1;
    }
  }
  for (const [folder, { manifest, copies }] of Object.entries(PACKAGES)) {
    for (const [name, from] of Object.entries(copies)) copyFileSync(from, `${folder}/${name}`);
    const text = JSON.stringify(manifest, null, 2).replaceAll(`${folder}/`, '');
    writeFileSync(`${folder}/package.json`, `${text}\n`);
  }
  return 0;
}

// On musl the Node that npm ci installs is there and does not start. Without it, npm and npx take the one of the path.
const installed = 'node_modules/.bin/node';
const isPrepare = process.env.npm_lifecycle_event === 'prepare';
if (isPrepare && process.platform !== 'win32') {
  const { stdout } = spawnSync(installed, ['--version']);
  if (!/^v/.test(stdout)) rmSync(installed, { force: true });
}

// `npm ci --omit=dev` installs no bundler.
if (!isPrepare || existsSync('node_modules/rolldown')) {
  if (NEEDED_NODE === null) process.exitCode = build();
  else {
    process.stderr.write(`Not built: ${NEEDED_NODE}`);
    process.exitCode = isPrepare ? 0 : 1; // npm ci would fail
  }
}
