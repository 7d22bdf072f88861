import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { BENCH, ROOT } from './peers.ts';
import type { Machine } from './results.ts';

/** Tells where the benchmark runs, and what. */
export function describeMachine(): Machine {
  const { dependencies, optionalDependencies } = JSON.parse(
    readFileSync(`${BENCH}package.json`, 'utf8'),
  );
  const commit = execFileSync('git', ['describe', '--always', '--dirty'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    kernel: release(),
    node: process.version,
    commit: commit.trim(),
    versions: { ...dependencies, ...optionalDependencies },
  };
}
