import { setImmediate as nextIteration } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createLogger } from '../../../src/gateway/serve/logger.ts';

describe.each([
  ['a pipe', false],
  ['a terminal', true],
])('the log in %s', (_, isTTY) => {
  it('keeps 8 MiB for a reader that has stopped, drops the rest, and says how much', async () => {
    let text = '';
    const stdout = {
      isTTY,
      writableLength: 0,
      write: (written: string) => {
        text += written;
      },
    };
    const log = createLogger(
      { stdout, environment: {}, now: () => new Date(0) },
      { LOG_LEVEL: 'info' },
    );
    const write = async (count: number, requestId: string) => {
      for (let line = 0; line < count; line += 1) log.info({ requestId }, 'request');
      await nextIteration();
      const lines = text.split('\n').filter((line) => line !== '');
      text = '';
      return lines;
    };
    expect(await write(2, 'aaaa')).toHaveLength(2);
    stdout.writableLength = 2 ** 23;
    expect(await write(3, 'bbbb')).toHaveLength(3);
    stdout.writableLength = 2 ** 23 + 1;
    expect(await write(4, 'cccc')).toEqual([]);
    expect(await write(5, 'dddd')).toEqual([]);
    stdout.writableLength = 0;
    expect(await write(1, 'eeee')).toEqual([
      expect.stringMatching(/(?:WARN|"level":40).*9 log lines were dropped/),
      expect.stringContaining('eeee'),
    ]);
    expect(await write(1, 'ffff')).toEqual([expect.stringContaining('ffff')]);
  });
});
