import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';

/** The standard input of the process. */
export type Input = NodeJS.ReadableStream & { readonly isTTY?: boolean };

/** A prompt was left by Ctrl-C, Ctrl-D, or the end of the input. */
export class PromptClosed extends Error {
  override readonly name = 'PromptClosed';
}

/** Reads a secret: from a prompt that echoes nothing, or else all of standard input, without the line break at its end. */
export async function readSecret(stdin: Input, stderr: NodeJS.WritableStream): Promise<string> {
  if (stdin.isTTY !== true) return (await text(stdin)).replace(/\r?\n$/, '');
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const prompt = () => stderr.write('Client secret (not shown): ');
  try {
    return await readTyped(stdin, silent, prompt);
  } finally {
    stderr.write('\n');
  }
}

/** Asks a question at the terminal. Returns the line that is typed. Aborting the signal closes the prompt. */
export const ask = (
  stdin: Input,
  stderr: NodeJS.WritableStream,
  question: string,
  signal: AbortSignal,
) => readTyped(stdin, stderr, (lines) => lines.setPrompt(question), signal);

/**
 * Reads a line. The terminal echoes nothing itself before `prompt` is called: what is typed early is not shown either.
 * @throws PromptClosed if no line is typed.
 */
function readTyped(
  input: Input,
  output: NodeJS.WritableStream,
  prompt: (lines: Interface) => unknown,
  signal?: AbortSignal,
) {
  return new Promise<string>((resolve, reject) => {
    const options = { terminal: true, historySize: 0, prompt: '' };
    const lines = createInterface({ input, output, ...options, ...(signal && { signal }) });
    lines.on('close', () => reject(new PromptClosed('The prompt was closed.')));
    lines.on('SIGINT', () => lines.close());
    lines.on('line', (line) => {
      resolve(line);
      lines.close();
    });
    prompt(lines);
    lines.prompt();
  });
}
