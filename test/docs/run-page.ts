import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Block, readBlocks } from './markdown.ts';
import { type LongRunning, openShell, type Place, startLongRunning } from './terminal.ts';

/**
 * Runs the blocks of a page from top to bottom, as a reader would who starts in the folder of a clone:
 *
 * - `sh`: in the shell of the page. With `terminal=NAME`: in a terminal of that name, until the page ends or starts
 *   another command there.
 * - any language with `file=NAME`: saved in the folder of the shell.
 * - any language with `output`: what the command before it printed. A line `…` matches any lines. JSON may be formatted.
 *
 * @throws AssertionError or Error, whose message begins with the line of the block.
 */
export async function runPage(page: string, place: Place, isRun: (block: Block) => boolean) {
  const terminals = new Map<string, LongRunning>();
  await using stack = new AsyncDisposableStack();
  stack.defer(async () => {
    for (const terminal of [...terminals.values()].toReversed())
      await terminal[Symbol.asyncDispose]();
  });
  const shell = stack.use(openShell(place));
  let printed = '';

  const runBlock = async (block: Block) => {
    const { language, attributes, text } = block;
    const file = attributes.get('file');
    const terminal = attributes.get('terminal');
    if (file !== undefined) {
      const current = (await shell.run('pwd')).trim();
      await writeFile(join(current, file), text);
    } else if (attributes.has('output')) {
      expectOutput(printed, block);
    } else if (language === 'sh' && terminal !== undefined) {
      await terminals.get(terminal)?.[Symbol.asyncDispose]();
      const started = await startLongRunning(text, place);
      terminals.set(terminal, started);
      printed = started.output();
    } else if (language === 'sh') {
      printed = await shell.run(text);
    }
  };

  for (const block of readBlocks(page).filter(isRun)) {
    try {
      await runBlock(block);
    } catch (error) {
      if (error instanceof Error) error.message = `line ${block.line}: ${error.message}`;
      throw error;
    }
  }
}

function expectOutput(printed: string, { language, text }: Block): void {
  if (language === 'json') {
    expect(JSON.parse(mask(printed))).toEqual(JSON.parse(mask(text)));
    return;
  }
  const lines = mask(printed)
    .split('\n')
    .filter((line) => !/^npm (?:warn|notice)/.test(line));
  const [actual, expected] = [lines.join('\n').trim(), mask(text).trim()];
  const pattern = expected
    .split('\n')
    .map((line) => (line.trim() === '…' ? '(?:.|\\n)*?' : `${escapeRegExp(line.trimEnd())} *`))
    .join('\n');
  // `toEqual` shows a difference; the pattern decides.
  if (!new RegExp(`^${pattern}$`).test(actual)) expect(actual).toEqual(expected);
}

/**
 * Replaces what differs from run to run: loopback addresses, times, durations, checkpoints, cursors, tokens and IDs; and
 * confidences, which each new sample changes. A page may shorten a checkpoint with `…`.
 */
function mask(text: string): string {
  return text
    .replace(/\b127\.0\.0\.\d+\b/g, '<loopback>') // that of the page, or of its requests
    .replace(/\bWz[\w-]+\.[\w-]*…?/g, '<checkpoint>')
    .replace(/\b1\.Wy[IJ][\w-]+/g, '<cursor>')
    .replace(/(?<![\w-])[\w-]{43}(?![\w-])/g, '<token>') // may begin or end with -
    .replace(/\d{4}-\d\d-\d\d[T ][\d:.]+Z?/g, '<instant>')
    .replace(/\b\d\d:\d\d:\d\d\b/g, '<time>')
    .replace(/\bcurl\/[\d.]+/g, '<curl>') // of this machine
    .replace(/\b\d+(?:\.\d+)? ?m?s\b/g, '<duration>')
    .replace(/(duration_ms|durationMs"?:?) ?[\d.]+/g, '$1 <duration>')
    .replace(/"confidence": ?0\.\d+/g, '"confidence": 0')
    .replace(/\(0\.\d\d?\)/g, '(0.5)')
    .replace(/"ms": ?\d+/g, '"ms": 0')
    .replace(/\b[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}\b/g, '<id>');
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
