import manifest from '../../package.json' with { type: 'json' };

/** The version of Keytrail. */
export const VERSION: string = manifest.version;
