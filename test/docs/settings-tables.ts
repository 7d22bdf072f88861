import { readFileSync, writeFileSync } from 'node:fs';
import { SETTING_NAMES, SETTINGS, type Setting } from '../../src/gateway/config/settings.ts';

const PAGE = new URL('../../docs/configuration.md', import.meta.url);

/** The tables of docs/configuration.md, in Markdown: the settings by group. */
export function renderSettings(): string {
  const settings = SETTING_NAMES.map((name): readonly [string, Setting] => [name, SETTINGS[name]]);
  const groups = Object.entries(Object.groupBy(settings, ([, { group }]) => group));
  return groups.map(([group, rows = []]) => renderGroup(group, rows)).join('\n');
}

function renderGroup(group: string, rows: readonly (readonly [string, Setting])[]): string {
  const lines = rows.map(([name, { option, defaultText, default: byDefault, description }]) => {
    const optionCell = option === undefined ? '' : `\`${option}\``;
    return `| \`${name}\` | ${optionCell} | ${defaultText ?? byDefault} | ${description} |`;
  });
  return `### ${group}

| variable | in a program | default | meaning |
|---|---|---|---|
${lines.join('\n')}
`;
}

if (import.meta.main) {
  const page = readFileSync(PAGE, 'utf8');
  const [before = '', rest = ''] = page.split(/(?<=^<!-- The tables .*-->\n)/m);
  writeFileSync(PAGE, `${before}\n${renderSettings()}\n${rest.slice(rest.indexOf('## Commands'))}`);
}
