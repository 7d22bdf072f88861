// JavaScript without dependencies: an older Node must be able to say which one is needed.
const [major, minor] = process.versions.node.split('.').map(Number);

// The rule of src/gateway/api/node-version.ts.
const isSupported = major === 24 ? minor >= 16 : major >= 26;

/** Which Node a clone needs, and where it is to be had; null if this is one. */
export const NEEDED_NODE = isSupported
  ? null
  : `keytrail needs Node 24.16, 26 or later, and this is ${process.version}: install one from https://nodejs.org or with a version manager; on Linux, and on Windows on x64, npm ci with scripts and optional packages installs one.\n`;
