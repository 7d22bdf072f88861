import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import {
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { toAbsoluteLinks } from '../../.github/release/absolute-links.ts';
import { notesOf } from '../../.github/release/notes.ts';
import manifest from '../../package.json' with { type: 'json' };
import { anchorsOf } from '../docs/markdown.ts';
import { createClone } from '../helpers/clone.ts';
import { startService } from '../helpers/service.ts';

type Step = {
  readonly name?: string;
  readonly uses?: string;
  readonly with?: Readonly<Record<string, unknown>>;
  readonly run?: string;
};

type Job = {
  readonly needs?: string | readonly string[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
};

const exec = promisify(execFile);
const ROOT = new URL('../../', import.meta.url);
const { permissions, jobs }: Job & { readonly jobs: Readonly<Record<string, Job>> } = parse(
  await readFile(new URL('.github/workflows/release.yml', ROOT), 'utf8'),
);

/** The packages are linked: what is left of `npm ci` is the build. */
const INSTEAD: Readonly<Record<string, string>> = { 'npm ci': 'npm run prepare' };

/** What a runner has. Here they only record how they are called. */
const PROGRAMS = ['docker', 'skopeo', 'gh'];

const ADDRESS = 'https://github.com/example/keytrail';
const TAG = `v${manifest.version}`;

/** Runs a command as GitHub's runners do. */
async function bash(run: string, cwd: string, env: NodeJS.ProcessEnv) {
  const running = exec('bash', ['-e', '-c', run], { cwd, env });
  running.child.stdin?.end();
  return await running;
}

/** Runs the steps of a job that are commands. Returns what they print. */
async function runJob(name: string, cwd: string, environment: NodeJS.ProcessEnv): Promise<string> {
  let output = '';
  for (const { run } of jobs[name]?.steps ?? []) {
    if (run === undefined) continue;
    const result = await bash(INSTEAD[run] ?? run, cwd, environment);
    output += result.stdout + result.stderr;
  }
  return output;
}

describe('the release', () => {
  let scratch: string;
  let clone: string;
  let environment: NodeJS.ProcessEnv;

  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'keytrail-release-'));
    clone = join(scratch, 'clone');
    createClone(clone);
    const log = await readFile(join(clone, 'CHANGELOG.md'), 'utf8');
    const older = '## 0.0.9\n\n- An older line.\n';
    const released = log.replace(/^## Unreleased.*$/m, `## Unreleased\n\n## ${manifest.version}`);
    await writeFile(join(clone, 'CHANGELOG.md'), `${released}\n${older}`);
    const programs = join(scratch, 'bin');
    await mkdir(programs);
    for (const name of PROGRAMS) {
      const program = `#!/bin/sh\ncat >/dev/null\necho "${name} $*" >>'${scratch}/calls'\n`;
      await writeFile(join(programs, name), program);
      await chmod(join(programs, name), 0o755);
    }
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('npm_'));
    environment = {
      ...Object.fromEntries(inherited),
      PATH: [programs, dirname(process.execPath), process.env['PATH']].join(delimiter),
      GITHUB_REPOSITORY: 'example/keytrail',
      GITHUB_REF_NAME: TAG,
      GITHUB_ACTOR: 'example',
    };
    await runJob('build', clone, environment);
  }, 120_000);

  afterAll(() => rmSync(scratch, { recursive: true }));

  /** The files of a package that was packed. */
  const unpack = async (name: string): Promise<string> => {
    const folder = await mkdtemp(join(scratch, 'unpacked-'));
    const tarball = join(clone, 'release', `${name}-${manifest.version}.tgz`);
    await exec('tar', ['-xzf', tarball, '-C', folder]);
    return join(folder, 'package');
  };

  /** Runs a job after `build`, in a folder that has only what was handed over. Returns the calls of programs too. */
  const runAfterBuild = async (name: string, more: NodeJS.ProcessEnv = {}) => {
    const folder = await mkdtemp(join(scratch, 'job-'));
    await cp(join(clone, 'release'), join(folder, 'release'), { recursive: true });
    await rm(join(scratch, 'calls'), { force: true });
    const output = await runJob(name, folder, { ...environment, ...more });
    const calls = await readFile(join(scratch, 'calls'), 'utf8').catch(() => '');
    return { output, calls };
  };

  it('runs code of the repository only in jobs without rights, and packs in one that runs no test', () => {
    expect(permissions).toEqual({});
    const rights = Object.entries(jobs).map(([name, job]) => [name, job.permissions]);
    expect(Object.fromEntries(rights)).toEqual({
      test: { contents: 'read' },
      build: { contents: 'read' },
      npm: { 'id-token': 'write' },
      image: { packages: 'write' },
      release: { contents: 'write' },
    });
    const { test, build, ...others } = jobs;
    const runs = ({ steps = [] }: Partial<Job> = {}) => steps.map(({ run = '' }) => run).join('\n');
    expect(runs(test)).toContain('npm run check && npm test');
    expect(test?.needs).toBeUndefined();
    expect(build?.needs).toBe('test');
    expect(runs(build)).not.toMatch(/\bnpm (?:test|run)\b|vitest/);
    expect(build?.steps.at(-1)).toMatchObject({
      uses: expect.stringMatching(/^actions\/upload-artifact@/),
      with: { path: 'release' },
    });
    for (const { needs = [], steps } of Object.values(others)) {
      expect(['build', 'npm']).toContain([needs].flat()[0]);
      const used = steps.flatMap(({ uses = [] }) => uses);
      for (const action of used)
        expect(action).toMatch(/^actions\/(?:setup-node|download-artifact)@/);
      expect(steps.map(({ run }) => run).join()).not.toMatch(/\bnpm (?!publish)|\bnode /);
    }
  });

  it.each(['keytrail', 'keytrail-client'])(
    'packs %s with the address of the repository, keywords and a README',
    async (name) => {
      const folder = await unpack(name);
      const packed = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
      expect(packed).toMatchObject({
        ...{ name, version: manifest.version },
        repository: { type: 'git', url: `git+${ADDRESS}.git` },
        homepage: `${ADDRESS}#readme`,
        bugs: { url: `${ADDRESS}/issues` },
        keywords: expect.arrayContaining(['graphql', 'audit-log']),
      });
      expect((await readFile(join(folder, 'README.md'), 'utf8')).split('\n')[0]).toMatch(/^# /);
      // npm warns whoever installs a package with `prepare`.
      expect(packed).not.toHaveProperty('scripts');
    },
  );

  it.each([
    ['keytrail', 20],
    ['keytrail-client', 5],
  ])(
    'has only absolute links in the README of %s, to files and headings of the tag',
    async (name, least) => {
      const page = await readFile(join(await unpack(name), 'README.md'), 'utf8');
      expect(page).not.toMatch(/^\[.*\]:|<a |<img /m); // other forms of links
      const targets = [...page.matchAll(/\]\(([^)]*)\)/g)].map(([, target = '']) => target);
      expect(targets.filter((target) => !/^https:/.test(target))).toEqual([]);
      const files = targets.flatMap((target) => {
        const [, kind, path, anchor] =
          /^https:\/\/github\.com\/(.*?\/\w+)\/v[\d.]+\/([^#]*)(?:#(.*))?$/.exec(target) ?? [];
        return path === undefined ? [] : [{ kind, path, anchor, target }];
      });
      expect(files.length).toBeGreaterThan(least);
      for (const { kind, path, anchor, target } of files) {
        expect(
          target.startsWith(`${ADDRESS}/${path.endsWith('.png') ? 'raw' : 'blob'}/${TAG}/`),
          kind,
        ).toBe(true);
        expect((await stat(join(clone, path))).isFile()).toBe(true);
        if (anchor !== undefined)
          expect(anchorsOf(await readFile(join(clone, path), 'utf8')), target).toContain(anchor);
      }
    },
  );

  it.each([
    ['latest', TAG, '--latest'],
    ['next', 'v0.2.0-rc.1', '--prerelease'],
  ])('publishes with the tag %s for %s', async (channel, tag, kind) => {
    const version = { GITHUB_REF_NAME: tag };
    const [pack = ''] =
      jobs['build']?.steps.flatMap(({ name, run = '' }) =>
        name === 'Pack' ? (run.match(/^case .*$/m) ?? []) : [],
      ) ?? [];
    await bash(pack, clone, { ...environment, ...version });
    expect(await readFile(join(clone, 'release/channel'), 'utf8')).toBe(`${channel}\n`);

    await using registry = await startService({ status: 404, body: {} });
    const npm = { npm_config_registry: registry.url, npm_config_dry_run: 'true' };
    const { output } = await runAfterBuild('npm', { ...version, ...npm });
    for (const name of ['keytrail', 'keytrail-client']) {
      expect(output).toContain(`+ ${name}@${manifest.version}\n`);
    }
    const published = `Publishing to ${registry.url} with tag ${channel} and public access (dry-run)`;
    expect(output.split(published).length).toBe(3);
    expect(registry.seen.map(({ method }) => method)).not.toContain('PUT');

    const image = 'docker://ghcr.io/example/keytrail';
    const { calls: copied } = await runAfterBuild('image', { ...version, TOKEN: 't' });
    expect(copied).toMatch(/^skopeo login ghcr\.io /);
    for (const name of [tag.slice(1), channel]) expect(copied).toContain(` ${image}:${name}\n`);

    const { calls: created } = await runAfterBuild('release', version);
    expect(created).toContain(
      `gh release create ${tag} --repo=example/keytrail --verify-tag ${kind} `,
    );
  });

  it('builds the image for two platforms, with SBOM and provenance', async () => {
    const run = jobs['build']?.steps.find(({ name }) => name === 'Build the image')?.run ?? '';
    await rm(join(scratch, 'calls'), { force: true });
    await bash(run, clone, environment);
    const calls = await readFile(join(scratch, 'calls'), 'utf8');
    expect(calls).toContain('--platform=linux/amd64,linux/arm64 --sbom=true --provenance=mode=max');
    expect(calls).toContain(`--label=org.opencontainers.image.source=${ADDRESS} `);
  });

  it('has the part of the version in its notes, and an SBOM of what is installed or copied', async () => {
    const notes = await readFile(join(clone, 'release/notes.md'), 'utf8');
    expect(notes).toMatch(/^The first release\.\n\n### /);
    expect(notes).not.toMatch(/Unreleased|An older line/);
    const sbom = JSON.parse(await readFile(join(clone, 'release/keytrail.cdx.json'), 'utf8'));
    expect(sbom).toMatchObject({ bomFormat: 'CycloneDX' });
    const names = sbom.components.map(({ name }: { readonly name: string }) => name);
    const copied = ['graphql', 'graphql-yoga', '@pothos/core', '@opentelemetry/sdk-node'];
    expect(names).toEqual(
      expect.arrayContaining([...Object.keys(manifest.dependencies), ...copied]),
    );
    for (const name of ['vitest', 'rolldown', 'typescript']) expect(names).not.toContain(name);
    const refs = new Set([...names.keys()].map((index) => sbom.components[index]['bom-ref']));
    const used = sbom.dependencies.flatMap(
      ({ dependsOn }: { readonly dependsOn: string[] }) => dependsOn,
    );
    expect(used.filter((ref: string) => !refs.has(ref))).toEqual([]);
    expect((await readdir(join(clone, 'release'))).toSorted()).toEqual([
      'channel',
      `keytrail-${manifest.version}.tgz`,
      `keytrail-client-${manifest.version}.tgz`,
      'keytrail.cdx.json',
      'notes.md',
    ]);
  });

  it('fails for a tag that is not the version', async () => {
    const wrong = { ...environment, GITHUB_REF_NAME: 'v9.9.9' };
    await expect(runJob('build', clone, wrong)).rejects.toMatchObject({ code: 1 });
  });
});

describe('the notes of a version', () => {
  it('are what is under its heading', () => {
    const line = fc
      .string()
      .filter(
        (text) => !/^## |[\r\n\u2028\u2029]/.test(text) && text.trim() === text && text !== '',
      );
    fc.assert(
      fc.property(fc.uniqueArray(line, { minLength: 1 }), fc.nat(), (parts, seed) => {
        const index = seed % parts.length;
        const sections = parts.map((part, patch) => `## 1.0.${patch} (2026)\n\n${part}\n`);
        const changelog = `# Changelog\n\n## Unreleased\n\n${sections.join('\n')}`;
        expect(notesOf(changelog, `1.0.${index}`)).toBe(`${parts[index]}\n`);
      }),
    );
  });

  it.each(['1.0.1', 'Unreleased', '1.0', ''])('are an error without any: %s', (version) => {
    const changelog = '# Changelog\n\n## Unreleased\n\n## 1.0.10\n\n- A line.\n\n## 1.0.1\n';
    expect(() => notesOf(changelog, version)).toThrow(`nothing under ## ${version}.`);
  });
});

describe('absolute links', () => {
  const source = { repository: 'example/keytrail', tag: TAG };

  it.each([
    ['[a](docs/a.md#b)', `[a](${ADDRESS}/blob/${TAG}/docs/a.md#b)`],
    ['![a](docs/a.png)', `![a](${ADDRESS}/raw/${TAG}/docs/a.png)`],
    ['[a](#b) [c](https://example.com/)', '[a](#b) [c](https://example.com/)'],
    ['```ts\nlist[0](x)\n```\n', '```ts\nlist[0](x)\n```\n'],
  ])('of %s', (page, expected) => {
    expect(toAbsoluteLinks(page, 'README.md', source)).toBe(expected);
  });

  it('are relative to the folder of the page, and are left as they are the second time', () => {
    const name = fc.stringMatching(/^[a-z][a-z-]*$/);
    fc.assert(
      fc.property(name, name, (folder, file) => {
        const page = `[a](../${file}.md)`;
        const once = toAbsoluteLinks(page, `${folder}/README.md`, source);
        expect(once).toBe(`[a](${ADDRESS}/blob/${TAG}/${file}.md)`);
        expect(toAbsoluteLinks(once, `${folder}/README.md`, source)).toBe(once);
      }),
    );
  });
});
