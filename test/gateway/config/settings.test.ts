import { readdirSync, readFileSync } from 'node:fs';
import { parseAst } from 'rolldown/parseAst';
import { describe, expect, it } from 'vitest';
import { SETTINGS, type Setting } from '../../../src/gateway/config/settings.ts';
import { ConfigError, createGateway } from '../../../src/index.ts';

const SRC = new URL('../../../src/', import.meta.url);

/** Builds `{ a: { b: value } }` from the path `a.b`. */
function optionsAt(path: string, value: unknown): object {
  const [name = '', ...rest] = path.split('.');
  return { [name]: rest.length === 0 ? value : optionsAt(rest.join('.'), value) };
}

describe('the table of settings', () => {
  it.each(Object.values<Setting>(SETTINGS).flatMap(({ option }) => option ?? []))(
    'names the option %s, which createGateway checks',
    (option) => {
      const invalid = Symbol('no option accepts it');
      const { upstream, ...others } = optionsAt(option, invalid) as { upstream?: object };
      const options = { ...others, upstream: { url: 'http://127.0.0.1:9', ...upstream } };
      try {
        createGateway(options);
        expect.unreachable();
      } catch (error) {
        const { problems } = error as ConfigError; // checked in the next line
        expect(error).toBeInstanceOf(ConfigError);
        expect(problems).toHaveLength(1);
        expect(problems[0]).toMatch(new RegExp(`^${option.replace('.', '\\.')}:? `));
        expect(problems[0]).not.toContain('is not an option');
      }
    },
  );

  it.each(Object.entries<Setting>(SETTINGS))('%s has a valid default', (_, setting) => {
    if (setting.default === undefined) expect(setting.defaultText).toBeDefined();
    else expect(setting.value.safeParse(setting.default)).toMatchObject({ success: true });
  });

  it.each(Object.entries<Setting>(SETTINGS))('%s is read', (name, { option }) => {
    const [first, second] = option?.split('.') ?? [name];
    expect(READ).toContain(first === 'upstream' ? second : first);
  });
});

/** The names of the members that code reads. Comments, texts, types and spreads read nothing. */
const READ: ReadonlySet<unknown> = new Set(
  readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => parseAst(readFileSync(new URL(file, SRC), 'utf8'), { lang: 'ts' }))
    .flatMap((program) => [...namesReadIn(program)]),
);

function* namesReadIn(node: unknown): Generator<unknown> {
  if (typeof node !== 'object' || node === null) return;
  const { type, computed, property, properties } = Object(node);
  if (type === 'MemberExpression') yield computed ? property.value : property.name;
  if (type === 'ObjectPattern') for (const { key } of properties) yield key?.name;
  for (const child of Object.values(node)) yield* namesReadIn(child);
}
