import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

/**
 * The most lines that each house of `src/` may have, without generated files, and the most files that a first request may
 * enter. Who needs more raises a number in the same commit, and says why beside it. Who deletes lowers it.
 */
const LIMITS = {
  lines: {
    'src/client/': 1120,
    'src/gateway/': 20259, // the judge knows more names than the two it replaces: 420 lines; `errors`: 60
    'src/terminal/': 7906, // 42 for `errors` in learn, and what stays of it in a recording
    'src/testing/': 1344,
    'src/util/': 1102,
    'src/': 376, // main.ts, index.ts, errors.ts
  },
  // The judge is four files: two more than the file that read deletions.
  filesOfFirst: { deletion: 54, audit: 85 },
} as const;

const SRC = new URL('../src/', import.meta.url);

/** Lines of the files of a house; those of `src/` itself without its folders. */
async function countLines(house: string): Promise<number> {
  const folder = new URL(`../${house}`, import.meta.url);
  const entries = await readdir(folder, { recursive: house !== 'src/', withFileTypes: true });
  const files = entries.filter(
    (entry) => entry.isFile() && /\.ts$/.test(entry.name) && !/\.generated\.ts$/.test(entry.name),
  );
  const texts = await Promise.all(
    files.map(({ parentPath, name }) => readFile(`${parentPath}/${name}`, 'utf8')),
  );
  return texts.reduce((sum, text) => sum + text.split('\n').length - 1, 0);
}

const REQUESTS = {
  deletion: {
    query: 'mutation { deleteApiKey(clientId: "ci-bot") { outcome } }',
    body: { deleted: true },
  },
  audit: {
    query:
      '{ audit { nodes { id occurredAt action outcome actor { identifier name } target { identifier name } } pageInfo { hasNextPage endCursor } } }',
    body: {
      events: ['key.delete', 'key.create'].map((action, index) => ({
        ...{ id: `e${index}`, time: `2026-01-01T00:00:0${index}Z`, action },
        ...{ actor: { id: 'u1', type: 'user' }, target: { id: `k${index}` } },
      })),
    },
  },
} as const;

describe('the table of sizes', () => {
  it('has each house of src', async () => {
    const entries = await readdir(SRC, { withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory());
    const houses = folders.map(({ name }) => `src/${name}/`);
    expect(Object.keys(LIMITS.lines).toSorted()).toEqual(['src/', ...houses].toSorted());
  });
});

describe('the lines of', () => {
  it.each(Object.entries(LIMITS.lines))('%s are at most %i', async (house, limit) => {
    expect(await countLines(house)).toBeLessThanOrEqual(limit);
  });
});

describe('the files that are entered', () => {
  it.each(['deletion', 'audit'] as const)('by a first %s are no more than it may', async (name) => {
    const script = fileURLToPath(new URL('helpers/entered-files.ts', import.meta.url));
    const argument = JSON.stringify(REQUESTS[name]);
    const { stdout } = await promisify(execFile)(process.execPath, [script, argument]);
    const { errors, files } = JSON.parse(stdout);
    expect(errors).toBeUndefined();
    expect(files.length, files.join(' ')).toBeLessThanOrEqual(LIMITS.filesOfFirst[name]);
    expect(files).toContain('gateway/plugins/fast-path.ts'); // it counts something
  });
});
