import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ask, readExample, startSubgraphs } from './supergraph.ts';

const EXAMPLE = fileURLToPath(new URL('../../examples/federation/', import.meta.url));

it.each([
  ['owners.ts', '{ apiKeys(first: 1) { owner } }'],
  ['apollo-gateway.ts', '{ __typename }'],
  ['hive-gateway.ts', '{ __typename }'],
])('%s serves on a port, and exits on SIGTERM', async (file, query) => {
  const child = spawn(process.execPath, [join(EXAMPLE, file)], {
    env: { PORT: '0' },
    timeout: 15_000,
    killSignal: 'SIGKILL',
  });
  const closed = once(child, 'close');
  try {
    const [greeting] = await once(child.stdout, 'data');
    const [url = ''] = /http:\S+/.exec(String(greeting)) ?? [];
    const { data, errors } = await ask(url, query);
    expect(errors).toBeUndefined();
    expect(data).toBeTruthy();
  } finally {
    child.kill('SIGTERM');
  }
  const [, signal] = await closed;
  expect(signal).not.toBe('SIGKILL'); // spawn's timeout sends it
});

describe('compose.ts', () => {
  /** Runs a copy of it with another `supergraph.yaml`. Returns what it printed and wrote. */
  async function compose(yaml: string) {
    const folder = await mkdtemp(join(tmpdir(), 'keytrail-compose-'));
    try {
      for (const file of ['compose.ts', 'composers.ts', 'package.json'])
        await cp(join(EXAMPLE, file), join(folder, file));
      await symlink(join(EXAMPLE, 'node_modules'), join(folder, 'node_modules'));
      await writeFile(join(folder, 'supergraph.yaml'), yaml);
      const printed = await promisify(execFile)(process.execPath, ['compose.ts'], { cwd: folder });
      return { ...printed, written: await readFile(join(folder, 'supergraph.graphql'), 'utf8') };
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  it('writes the supergraph and prints what it wrote', async () => {
    await using servers = await startSubgraphs();
    const { stdout, written } = await compose(servers.toTestUrls(readExample('supergraph.yaml')));
    expect(stdout).toBe('Wrote supergraph.graphql: 2 subgraphs, keytrail and owners.\n');
    expect(servers.toExampleUrls(written)).toBe(readExample('supergraph.graphql'));
  });

  it('names the URL of a subgraph that does not run', async () => {
    await using servers = await startSubgraphs();
    const yaml = servers.toTestUrls(readExample('supergraph.yaml'));
    const owners = servers.toTestUrls('http://127.0.0.1:4002/graphql');
    await servers.stopOwners();
    await expect(compose(yaml)).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: `${owners} returned no schema: check that a subgraph is running there.\n`,
    });
  });
});
