import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../../src/terminal/command-line.ts';
import { keytrailInProcess } from '../helpers/process.ts';

/** The ways to write a short option with a value. */
const WITH_VALUE = [
  (letter: string, value: string) => [`-${letter}`, value],
  (letter: string, value: string) => [`-${letter}${value}`],
  (letter: string, value: string) => [`-${letter}=${value}`],
];

describe('a short option', () => {
  it.each([
    [
      ['-n', '10'],
      ['--limit', '10'],
    ],
    [['-n10'], ['--limit', '10']],
    [['-n=10'], ['--limit', '10']],
    [['-nall'], ['--limit', 'all']],
    [['-ocsv'], ['--output', 'csv']],
    [
      ['-o', 'csv', '-f'],
      ['--output', 'csv', '--follow'],
    ],
    [['-fn10'], ['--follow', '--limit', '10']],
    [
      ['-fo', 'csv'],
      ['--follow', '--output', 'csv'],
    ],
    [['-f=off'], ['--follow=off']],
    [['-fh'], ['--follow', '--help']],
    [['-fV'], ['--follow', '--version']],
    [['-n='], ['--limit=']],
    [
      ['-n', '--raw'],
      ['--limit', '--raw'],
    ],
  ])('%j means %j', (short, long) => {
    expect(parseCommandLine(['audit', ...short])).toEqual(parseCommandLine(['audit', ...long]));
    expect(parseCommandLine([...short, 'audit'])).toEqual(parseCommandLine([...long, 'audit']));
  });

  it('means the same in any order, alone or in one word', () => {
    const value = fc.constantFrom('1', '20', 'all', 'x', '=', '-1');
    const part = fc.record({ letter: fc.constantFrom('n', 'o'), value, form: fc.nat(2) });
    fc.assert(
      fc.property(fc.boolean(), part, part, (isFollowed, one, other) => {
        const parts = one.letter === other.letter ? [one] : [one, other];
        const names = { n: '--limit', o: '--output' } as const;
        const short = parts.flatMap(({ letter, value, form }) => {
          const isAttached = !value.startsWith('='); // -n== is ambiguous, and means =
          return WITH_VALUE[isAttached ? form : 2]?.(letter, value) ?? [];
        });
        const [first = '', ...more] = short;
        const given = isFollowed ? [`-f${first.slice(1)}`, ...more] : short;
        const long = parts.map(({ letter, value }) => `${names[letter]}=${value}`);
        const follow = isFollowed ? ['--follow'] : [];
        expect(parseCommandLine(['audit', ...given])).toEqual(
          parseCommandLine(['audit', ...follow, ...long]),
        );
      }),
    );
  });

  it.each([
    [['audit', '-x'], '-x is not an option of audit.\n'],
    [['audit', '-fx'], '-fx is not an option of audit.\n'],
    [['audit', '-limit', '5'], '-limit is not an option of audit. Did you mean --limit?'],
    [['audit', '-output=csv'], '-output is not an option of audit. Did you mean --output?'],
    [['audit', '-follow'], '-follow is not an option of audit. Did you mean --follow?'],
    [['audit', '-n', 'x'], '--limit must be a whole number, 1 or more, or all, not "x".'],
    [['audit', '-n', '-f'], '--limit must be a whole number, 1 or more, or all, not "-f".'],
    [['audit', '-ff'], '--follow is given more than once.'],
    [['audit', '-f', 'on'], 'Only one command can be given.'],
    [['serve', '-n5'], '-n (--limit) is not an option of serve. Use it with audit.'],
    [['login', 'a', '-f'], '-f (--follow) is not an option of login. Use it with audit.'],
  ])('%j is rejected: %s', async (args, sentence) => {
    await using process = keytrailInProcess(args);
    expect(await process.status).toBe(2);
    expect(process.output.stderr).toContain(sentence);
  });

  it.each([[['-v']], [['-V']], [['audit', '-V']], [['schema', '-v']]])(
    '%j prints the version',
    async (args) => {
      await using process = keytrailInProcess(args);
      expect(await process.status).toBe(0);
      expect(process.output.stdout).toBe('0.0.0\n');
    },
  );

  it('after -- is a word', () => {
    expect(parseCommandLine(['delete-key', '--', '-f'])).toMatchObject({ operands: ['-f'] });
  });

  it('comes before its long name in the help', async () => {
    await using process = keytrailInProcess(['audit', '--help']);
    for (const names of ['-n, --limit', '-o, --output', '-f, --follow', '-h, --help'])
      expect(process.output.stdout).toContain(`  ${names}`);
    await using all = keytrailInProcess(['--help']);
    expect(all.output.stdout).toMatch(/^ {2}-V, --version .*-v/m);
  });
});
