/**
 * What cases of this folder wait for: a case whose part is not there yet is skipped. Turn a part on when it has
 * landed; when all are on, replace `it.runIf(LANDED.…)` by `it` and delete this file.
 */
export const LANDED = {
  /** Limits on tokens, depth, aliases and root fields; caches bounded in bytes. */
  limits: false,
  /** The guard of repeated logins. */
  loginGuard: false,
  /** A read is repeated once. */
  retry: false,
};
