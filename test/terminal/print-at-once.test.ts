import fc from 'fast-check';
import { expect, it } from 'vitest';
import { COMMAND_NAMES } from '../../src/terminal/commands.ts';
import { formatHelp } from '../../src/terminal/help.ts';
import { printAtOnce } from '../../src/terminal/print-at-once.ts';
import { keytrailInProcess } from '../helpers/process.ts';

const HELP = Object.fromEntries([
  ['', formatHelp('keytrail')],
  ...COMMAND_NAMES.map((name) => [name, formatHelp(name)] as const),
]);

it.each([
  ...[['--version'], ['-V'], ['-v'], ['help'], ['--help'], ['-h']],
  ...[
    ['help', 'audit'],
    ['--help', 'audit'],
    ['audit', '--help'],
    ['audit', '-h'],
  ],
])('%j %j is printed without the tables of options', (...args) => {
  expect(printAtOnce(args, '0.0.0', HELP)).toBeDefined();
});

it('prints what the command prints, or leaves it to that', async () => {
  const word = fc.constantFrom(
    ...[
      'help',
      '--help',
      '-h',
      '--version',
      '-V',
      '-v',
      'audit',
      'serve',
      'delete-key',
      'nope',
      '',
    ],
    ...['--raw', '--', 'keytrail', 'toString'],
  );
  await fc.assert(
    fc.asyncProperty(fc.array(word, { maxLength: 3 }), async (args) => {
      const printed = printAtOnce(args, '0.0.0', HELP);
      if (printed === undefined) return;
      await using process = keytrailInProcess(args);
      expect(await process.status).toBe(0);
      expect(process.output.stdout).toBe(printed);
    }),
  );
});

it('leaves help to the command if there are no texts, as in the sources', () => {
  expect(printAtOnce(['--help'], '0.0.0', {})).toBeUndefined();
  expect(printAtOnce(['audit', '--help'], '0.0.0', {})).toBeUndefined();
});
