import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SETTING_NAMES } from '../../src/gateway/config/settings.ts';
import { parseCommandLine } from '../../src/terminal/command-line.ts';
import { COMMAND_NAMES, COMMANDS, type Command } from '../../src/terminal/commands.ts';
import { keytrailInProcess } from '../helpers/process.ts';

describe('a variable that is nearly one of keytrail', () => {
  it.each([
    ['audit', 'KEYTRAIL_TOKN', 'KEYTRAIL_TOKEN'],
    ['audit', 'KEYTRAIL_CONTRAT', 'KEYTRAIL_CONTRACT'],
    ['audit', 'KEYTRAIL_CONTARCT', 'KEYTRAIL_CONTRACT'],
    ['audit', 'UPSTREAM_URI', 'UPSTREAM_URL'],
    ['audit', 'UPSTREAM_ULR', 'UPSTREAM_URL'],
    ['audit', 'UPSTREAM_TIMEOUT', 'UPSTREAM_TIMEOUT_MS'],
    ['delete-key', 'KEYTRAIL_TOKENS', 'KEYTRAIL_TOKEN'],
    ['serve', 'UPSTREAM_CA', 'UPSTREAM_CA_FILE'],
    ['serve', 'UPSTREAM_CONNECTION', 'UPSTREAM_CONNECTIONS'],
    ['learn', 'UPSTREAM_CERTFILE', 'UPSTREAM_CERT_FILE'],
  ])('is refused by %s: %s, for %s', async (command, name, meant) => {
    await using process = keytrailInProcess([command], { [name]: 'x' });
    expect(await process.status).toBe(2);
    expect(process.output.stderr).toContain(
      `  - ${name} is not a variable of keytrail. Did you mean ${meant}?\n`,
    );
  });

  it.each([
    ['audit', { KEYTRAIL_TOKN: 'x', KEYTRAIL_TOKEN: 'y' }], // what was meant is set
    ['audit', { KEYTRAIL_TOKN: ' ' }], // as if it was not set
    ['audit', { UPSTREAM_CONNECTION: '1' }], // audit has no such setting
    ['schema', { UPSTREAM_URI: 'x' }],
    ['serve', { KEYTRAIL_TOKEN: 'x' }], // of other commands
    ['audit', { KEYTRAIL_TOKEN_STAGING: 'x', UPSTREAM_URL_OF_TEST: 'x', KEYTRAIL_HOME: 'x' }],
    ['serve', { STREAM_URL: 'x', POST: 'x', keytrail_tokn: 'x' }],
  ])('is ignored by %s: %j', (command, environment) => {
    expect(parseCommandLine([command], environment).problems).toEqual([]);
  });

  it('is ignored if an option sets what it may mean', () => {
    const args = ['audit', '--upstream-url', 'https://a.example'];
    expect(parseCommandLine(args, { UPSTREAM_URI: 'x' }).problems).toEqual([]);
  });

  it('does not hide the help', async () => {
    await using process = keytrailInProcess(['audit', '--help'], { KEYTRAIL_TOKN: 'x' });
    expect(await process.status).toBe(0);
  });

  it('is none of a setting, nor what Kubernetes sets for a service of any name', () => {
    const commands = COMMAND_NAMES.filter((name) => {
      const { operands }: Command = COMMANDS[name];
      return (operands?.min ?? 0) === 0;
    });
    const word = fc.oneof(
      fc.string({ unit: fc.constantFrom(...'abcx'), minLength: 1, maxLength: 3 }),
      fc.constantFrom('url', 'token', 'contract', 'service', 'port', 'timeout', 'ms', 'ca', 'file'),
    );
    const service = fc
      .tuple(fc.constantFrom('keytrail', 'upstream'), fc.array(word, { maxLength: 3 }))
      .map(([first, words]) => [first, ...words].join('_').toUpperCase());
    const suffix = fc.constantFrom(
      ...['SERVICE_HOST', 'SERVICE_PORT', 'SERVICE_PORT_HTTP', 'PORT', 'PORT_4000_TCP'],
      ...['PORT_4000_TCP_PROTO', 'PORT_4000_TCP_PORT', 'PORT_4000_TCP_ADDR', 'PORT_53_UDP'],
    );
    const variables = fc
      .array(fc.tuple(service, suffix), { maxLength: 9 })
      .map((names) => names.map(([name, end]) => [`${name}_${end}`, 'x'] as const));
    fc.assert(
      fc.property(
        ...([fc.constantFrom(...commands), variables, fc.subarray([...SETTING_NAMES])] as const),
        (command, injected, settings) => {
          const own = settings.map((name) => [name, 'x'] as const);
          const environment = Object.fromEntries([...injected, ...own]);
          expect(parseCommandLine([command], environment).problems).toEqual([]);
        },
      ),
    );
  });
});
