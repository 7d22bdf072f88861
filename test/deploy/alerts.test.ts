import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { SETTINGS } from '../../src/gateway/config/settings.ts';
import { anchorsOf } from '../docs/markdown.ts';
import { countEverything, findUnknown, readSamples } from '../helpers/promql.ts';

type Rule = {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
};

const exec = promisify(execFile);
const path = (file: string) => fileURLToPath(new URL(`../../${file}`, import.meta.url));
const read = (file: string) => readFileSync(path(file), 'utf8');

const ALERTS = path('deploy/alerts.yaml');
const UNIT_TESTS = path('test/deploy/alerts.test.yaml');
const { groups }: { readonly groups: readonly { readonly rules: readonly Rule[] }[] } = parse(
  read('deploy/alerts.yaml'),
);
const RULES = groups.flatMap(({ rules }) => rules);

const hasPromtool = spawnSync('promtool', ['--version']).error === undefined;
if (!hasPromtool)
  process.stderr.write('Skipped: deploy/alerts.yaml, because promtool is not installed.\n');

/** Runs the unit tests with other rules. */
async function testRules(rules: readonly Rule[]) {
  const folder = await mkdtemp(join(tmpdir(), 'keytrail-alerts-'));
  try {
    const [file, tests] = [join(folder, 'alerts.yaml'), join(folder, 'alerts.test.yaml')];
    await writeFile(file, stringify({ groups: [{ name: 'keytrail', rules }] }));
    await writeFile(
      tests,
      stringify({ ...parse(read('test/deploy/alerts.test.yaml')), rule_files: [file] }),
    );
    return await exec('promtool', ['test', 'rules', tests]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe.skipIf(!hasPromtool)('promtool', () => {
  it('accepts deploy/alerts.yaml', async () => {
    await exec('promtool', ['check', 'rules', '--lint-fatal', ALERTS]);
  });

  it('passes the unit tests of the rules', async () => {
    await exec('promtool', ['test', 'rules', UNIT_TESTS]);
    await testRules(RULES);
  });

  it.each(RULES)('has a unit test that fails without $alert', async ({ alert }) => {
    const rest = RULES.filter((rule) => rule.alert !== alert);
    await expect(testRules(rest)).rejects.toThrow(alert);
  });
});

describe('deploy/alerts.yaml', async () => {
  const samples = readSamples(await countEverything());

  it.each(RULES)('queries metrics and labels that exist: $alert', ({ expr }) => {
    expect(findUnknown(expr, samples)).toEqual([]);
    expect(findUnknown(expr.replace(/(?:keytrail|nodejs)_/, 'other_'), samples)).not.toEqual([]);
  });

  it.each(RULES)('says what happened, what to do, and on which page: $alert', (rule) => {
    const { summary, description, runbook_url: runbook = '', ...more } = rule.annotations;
    expect([summary, description]).toEqual(Array(2).fill(expect.stringMatching(/^\S.*\.$/)));
    expect(more).toEqual({});
    expect(rule.labels).toEqual({ severity: expect.stringMatching(/^(?:critical|warning)$/) });
    const [page = '', anchor] = runbook.split('#');
    expect(anchorsOf(read(page))).toContain(anchor);
    const link = page === 'docs/observability.md' ? `#${anchor}` : runbook.replace('docs/', '');
    const rows = read('docs/observability.md').split('\n');
    const row = rows.find((line) => line.startsWith(`| \`${rule.alert}\` |`));
    expect(row).toContain(`](${link}) |`);
  });

  it('warns at 80 % of the subscriptions that a replica serves by default', () => {
    const limit = SETTINGS.MAX_SUBSCRIPTIONS.default;
    const near = RULES.find(({ alert }) => alert === 'KeytrailSubscriptionsNearLimit');
    expect(near?.expr).toBe(`keytrail_subscriptions > ${limit * 0.8}`);
    expect(near?.annotations['description']).toContain(`MAX_SUBSCRIPTIONS (${limit})`);
  });
});
