import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMAND_NAMES, SHELLS } from '../../src/terminal/commands.ts';
import { keytrailInProcess } from '../helpers/process.ts';

const FILES = ['a file.json', 'other.json'];

/** What is typed, and the words that complete its last one. */
const CASES: readonly (readonly [typed: string, words: readonly string[]])[] = [
  ['keytrail ', ['help', ...COMMAND_NAMES]],
  ['keytrail au', ['audit']],
  ['keytrail --po', ['--port']], // of serve, which is the default
  ['keytrail help lo', ['login', 'logout']],
  ['keytrail audit --ou', ['--outcome', '--output']],
  ['keytrail audit --raw --ou', ['--outcome', '--output']],
  ['keytrail audit --output ', ['table', 'ndjson', 'json', 'csv', 'ecs', 'ocsf']],
  ['keytrail audit --output nd', ['ndjson']],
  ['keytrail audit --output=nd', ['--output=ndjson']],
  ['keytrail check --output ', ['table', 'json']],
  ['keytrail check -o ', ['table', 'json']],
  ['keytrail audit -o nd', ['ndjson']],
  ['keytrail audit --since ', []],
  ['keytrail audit --limit ', ['all']],
  ['keytrail audit --upstream-u', ['--upstream-url']],
  ['keytrail completion ', SHELLS],
  ['keytrail completion --', ['--help', '--version']],
  ['keytrail login --s', ['--session']],
  ['keytrail login demo-admin --s', ['--session']],
  ['keytrail serve --log-level=wa', ['--log-level=warn']],
  ['keytrail audit --checkpoint ', FILES],
  ['keytrail audit --checkpoint a', ['a file.json']],
  ['keytrail serve --upstream-key-file o', ['other.json']],
  ['keytrail learn o', ['other.json']],
];

type Shell = (typeof SHELLS)[number];

let folder = '';
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'keytrail-completion-'));
  for (const shell of SHELLS) {
    await using process = keytrailInProcess(['completion', shell]);
    expect(await process.status).toBe(0);
    writeFileSync(join(folder, shell), process.output.stdout);
  }
  mkdirSync(join(folder, 'files'));
  for (const name of FILES) writeFileSync(join(folder, 'files', name), '');
});
afterAll(() => rmSync(folder, { recursive: true }));

const isInstalled = (shell: Shell) => spawnSync(shell, ['--version']).status === 0;

function runShell(command: string, args: readonly string[], input: string): string {
  const env = { PATH: process.env['PATH'], TERM: 'dumb', HOME: folder, LC_ALL: 'C.UTF-8' };
  return execFileSync(command, args, {
    ...{ cwd: join(folder, 'files'), env, input, encoding: 'utf8' },
  });
}

/**
 * Types lines into a shell in a pseudo terminal, in which `keytrail` prints its arguments. Returns those of each call.
 */
function typeInto(shell: string, lines: readonly string[]): readonly (readonly string[])[] {
  const print = `keytrail() { printf '<%s>' "$@"; printf '\\n'; }`;
  const input = [print, ...lines, 'exit', ''].join('\r');
  const screen = runShell('script', ['-qec', `stty cols 1000; ${shell}`, '/dev/null'], input);
  const calls = screen.matchAll(/^<(.*)>\r$/gm);
  return [...calls].map(([, args = '']) => args.split('><'));
}

const insertAll = {
  bash: (typed: readonly string[]) =>
    typeInto('bash --norc --noprofile -i', [
      'source ../bash',
      ...typed.map((line) => `${line}\u001b*`), // readline's insert-completions
    ]),
  zsh: (typed: readonly string[]) =>
    typeInto('zsh -f -i', [
      'autoload -U compinit; compinit -D -u; source ../zsh',
      "zle -C all complete-word _generic; bindkey '^T' all; zstyle ':completion:all:*' insert yes",
      "zstyle ':completion:all::::' completer _all_matches _complete",
      ...typed.map((line) => `${line}\u0014`), // Ctrl-T
    ]),
};

describe('the script of keytrail completion completes commands, options, values and files, and runs nothing', () => {
  it.for(['bash', 'zsh'] as const)('in %s', (shell, { skip }) => {
    skip(!isInstalled(shell), `${shell} is not installed`);
    const calls = insertAll[shell](CASES.map(([typed]) => typed));
    expect(calls).toHaveLength(CASES.length);
    for (const [index, [typed, words]] of CASES.entries()) {
      const before = typed.split(' ').slice(1, -1);
      expect(calls[index], typed).toEqual([...before, ...words.toSorted()]);
    }
  });

  it('in fish', ({ skip }) => {
    skip(!isInstalled('fish'), 'fish is not installed');
    const run = [
      'function keytrail; echo called; end; source ../fish',
      ...CASES.map(([typed]) => `complete -C '${typed}'; echo .`),
    ];
    const printed = runShell('fish', ['--no-config', '-c', run.join('\n')], '');
    const parts = printed.split(/^\.\n/m);
    for (const [index, [typed, words]] of CASES.entries()) {
      const lines = parts[index]?.split('\n').slice(0, -1) ?? [];
      expect(
        lines.map((line) => line.split('\t')[0]),
        typed,
      ).toEqual(words.toSorted());
    }
  });
});

describe('keytrail completion', () => {
  it.each([[['completion']], [['completion', 'csh']], [['completion', 'bash', 'zsh']]])(
    '%j is wrong usage',
    async (args) => {
      await using process = keytrailInProcess(args);
      expect(await process.status).toBe(2);
      expect(process.output).toMatchObject({
        stdout: '',
        stderr: expect.stringContaining('completion takes one shell: bash, zsh, fish.'),
      });
    },
  );
});
