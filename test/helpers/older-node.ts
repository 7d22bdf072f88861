import { spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The oldest Node for the library, the client and the testbed, which `npm run test:package` installs. */
export const OLDEST_NODE = fileURLToPath(
  new URL('../oldest/node_modules/.bin/node', import.meta.url),
);

/** A Node on the PATH that is too old for Keytrail, as CI has; undefined if there is none. */
export const OLDER_NODE = process.env['PATH']
  ?.split(delimiter)
  .map((directory) => join(directory, 'node'))
  .find((node) => /^v2[01]\./.test(String(spawnSync(node, ['--version']).stdout)));
