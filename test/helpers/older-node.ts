import { spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';

/** A Node on the PATH that is too old for Keytrail, as CI has; undefined if there is none. */
export const OLDER_NODE = process.env['PATH']
  ?.split(delimiter)
  .map((directory) => join(directory, 'node'))
  .find((node) => /^v2[0-3]\./.test(String(spawnSync(node, ['--version']).stdout)));
