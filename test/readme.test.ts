import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { Kind, parse } from 'graphql';
import { describe, expect, it } from 'vitest';
import { SETTING_NAMES, SETTINGS, type Setting } from '../src/config/settings.ts';
import { FAILURES } from '../src/errors.ts';
import { keytrailInProcess } from './helpers/process.ts';

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
const README = read('README.md');

/** The text of a section. */
function section(heading: string): string {
  const start = README.indexOf(`\n## ${heading}\n`);
  expect(start).toBeGreaterThan(0);
  return README.slice(start + 1, README.indexOf('\n## ', start + 1));
}

function blocks(kind: string, of: string): string[] {
  return [...of.matchAll(new RegExp(`\`\`\`${kind}\n([^]*?)\`\`\``, 'g'))].map(
    ([, body = '']) => body,
  );
}

/** Masks what differs from run to run. */
function mask(output: string): string {
  return output
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<instant>')
    .replace(/"[\w-]{43}"/g, '"<token>"')
    .trim();
}

describe('the README', () => {
  it('has a first query whose commands print the output shown', async () => {
    await using process = keytrailInProcess([], { PORT: '0' });
    const [, origin = ''] = await process.until(/(http:\/\/127\.0\.0\.1:\d+)\/graphql/);
    const commands = blocks('sh', section('First query'));
    const outputs = blocks('json', section('First query'));
    expect(commands).toHaveLength(outputs.length);
    const script = commands.join('\necho; echo ----\n').replaceAll('http://127.0.0.1:4000', origin);
    const shell = spawn('bash', ['-euo', 'pipefail', '-c', script]);
    const printed = (await text(shell.stdout)).split('----\n');
    expect(printed.map(mask)).toEqual(outputs.map(mask));
  });

  it('shows the program, the test and the tracing setup of examples/', () => {
    expect(blocks('ts', section('In a program'))).toEqual([read('examples/library.ts')]);
    expect(blocks('ts', section('In tests'))).toEqual([read('examples/testing.test.ts')]);
    expect(blocks('js', section('Settings'))).toEqual([read('examples/tracing.js')]);
  });

  it('shows the router configurations of examples/federation/', () => {
    const example = (file: string) => read(`examples/federation/${file}`);
    expect(blocks('yaml', section('Federation'))).toEqual([
      example('apollo-router.yaml'),
      example('cosmo/config.yaml'),
    ]);
    const [hive, apollo = ''] = blocks('ts', section('Federation'));
    expect(hive).toBe(example('gateway.config.ts'));
    expect(apollo.length).toBeGreaterThan(500);
    expect(example('apollo-gateway.ts')).toContain(apollo);
  });

  it('lists every client of examples/clients/', () => {
    const clients = readdirSync(new URL('../examples/clients', import.meta.url));
    const shared = ['session.ts', 'settings.ts'];
    for (const file of clients.filter((name) => !shared.includes(name))) {
      expect(section('In a program')).toContain(`| \`npx node examples/clients/${file}\` |`);
    }
  });

  it('lists every setting with its option, default and description', () => {
    const table = section('Settings');
    for (const name of SETTING_NAMES) {
      const { option, defaultText, default: byDefault, description }: Setting = SETTINGS[name];
      const optionCell = option === undefined ? '' : `\`${option}\``;
      const cells = [`\`${name}\``, optionCell, defaultText ?? byDefault, description];
      expect(table).toContain(`| ${cells.join(' | ')} |`);
    }
  });

  it('lists every error code', () => {
    for (const code of Object.keys(FAILURES)) expect(section('Errors')).toContain(`\`${code}\``);
  });

  it('gives the origin of every field in the schema', () => {
    const table = section('Where everything in the schema comes from');
    const fields = parse(read('schema.graphql')).definitions.flatMap((type) =>
      type.kind === Kind.OBJECT_TYPE_DEFINITION || type.kind === Kind.INPUT_OBJECT_TYPE_DEFINITION
        ? (type.fields ?? []).map(({ name }) => `${type.name.value}.${name.value}`)
        : [],
    );
    expect(fields.length).toBeGreaterThan(40);
    expect(fields.filter((field) => !table.includes(`\`${field}\``))).toEqual([]);
  });

  it('names only scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json'));
    const named = [...(README + read('CONTRIBUTING.md')).matchAll(/npm run ([\w:]+)/g)];
    for (const [, name = ''] of named) expect(Object.keys(scripts)).toContain(name);
  });
});
