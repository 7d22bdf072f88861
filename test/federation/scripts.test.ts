import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import { copyExample, EXAMPLE, startScript } from './example-copy.ts';
import { ROUTERS } from './routers.ts';
import { ask, readExample, startSubgraphs } from './supergraph.ts';

it.each([
  ['owners', '{ apiKeys(first: 1) { owner } }', { apiKeys: [{ owner: 'team-1' }] }],
  ['identity', 'mutation { login(user: "ann") }', { login: 'graph-token-of-ann' }],
])('%s serves on a port, and exits on SIGTERM', async (name, query, expected) => {
  await using subgraph = await startScript(EXAMPLE, name);
  const { data } = await ask(subgraph.url, query);
  expect(data).toEqual(expected);
  expect(await subgraph.stop()).not.toBe('SIGKILL'); // spawn's timeout sends it
});

describe.each(Object.entries(ROUTERS))('%s', (_, { script, missing }) => {
  beforeEach(({ skip }) => skip(missing !== undefined, missing));

  it('serves the files of the example on a port, and exits on SIGTERM', async () => {
    await using subgraphs = await startSubgraphs({ body: [{ actor: { id: 'demo-admin' } }] });
    await using copy = await copyExample(subgraphs);
    await using router = await startScript(copy.folder, script);
    const query = '{ apiKeys(first: 1) { owner audit { totalCount } } }';
    const { data } = await ask(router.url, query, { authorization: 'Bearer token' });
    expect(data).toEqual({ apiKeys: [{ owner: 'team-1', audit: { totalCount: 1 } }] });
    expect(await router.stop()).not.toBe('SIGKILL');
  });

  it('shows no stack and no secret, and logs no secret', async () => {
    await using subgraphs = await startSubgraphs();
    await using copy = await copyExample(subgraphs);
    await using router = await startScript(copy.folder, script);
    const notJson = await fetch(router.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{',
    });
    expect(notJson.status).toBe(400);
    expect(await notJson.text()).not.toMatch(/node_modules|node:internal|\.[jt]s:/);

    await subgraphs.stopKeytrail();
    const login = (credential: string) =>
      `login(clientId: "k", credential: ${credential}) { accessToken }`;
    const results = [
      await ask(router.url, `mutation { ${login('{clientSecret: "s3cret"}')} }`),
      await ask(router.url, `mutation ($c: LoginCredential!) { ${login('$c')} }`, {
        variables: { c: { clientSecret: 's3cret' } },
        authorization: 'Bearer t0ken',
      }),
    ];
    for (const { errors, text } of results) {
      expect(errors).toHaveLength(1);
      expect(text).not.toMatch(/s3cret|t0ken/);
    }
    expect(router.printed()).not.toMatch(/s3cret|t0ken/);
  });
});

describe('compose.ts', () => {
  /** Runs a copy of it with another `supergraph.yaml`. Returns what it printed and wrote. */
  async function compose(yaml: string) {
    const folder = await mkdtemp(join(tmpdir(), 'keytrail-compose-'));
    try {
      for (const file of ['compose.ts', 'composers.ts', 'package.json', 'serve.ts'])
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
