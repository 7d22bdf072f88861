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
    return await readAnswer(stdin, silent, prompt);
  } finally {
    stderr.write('\n');
  }
}

/** Asks a question at the terminal. */
export const ask = (stdin: Input, stderr: NodeJS.WritableStream, question: string) =>
  readAnswer(stdin, stderr, (lines) => lines.setPrompt(question));

/**
 * Reads a line. The terminal echoes nothing itself before `prompt` is called: what is typed early is not shown either.
 * @throws PromptClosed if there is no answer.
 */
function readAnswer(
  input: Input,
  output: NodeJS.WritableStream,
  prompt: (lines: Interface) => unknown,
) {
  return new Promise<string>((resolve, reject) => {
    const lines = createInterface({ input, output, terminal: true, historySize: 0, prompt: '' });
    lines.on('close', () => reject(new PromptClosed('There is no answer.')));
    lines.on('SIGINT', () => lines.close());
    lines.on('line', (answer) => {
      resolve(answer);
      lines.close();
    });
    prompt(lines);
    lines.prompt();
  });
}
