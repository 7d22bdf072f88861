import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { ask } from './supergraph.ts';

it.each([
  ['owners.ts', '{ apiKeys(first: 1) { owner } }'],
  ['apollo-gateway.ts', '{ __typename }'],
  ['hive-gateway.ts', '{ __typename }'],
])('%s serves on a port, and exits on SIGTERM', async (file, query) => {
  const script = fileURLToPath(new URL(`../../examples/federation/${file}`, import.meta.url));
  const child = spawn(process.execPath, [script], {
    env: { PORT: '0' },
    timeout: 15_000,
    killSignal: 'SIGKILL',
  });
  const closed = once(child, 'close');
  try {
    const [greeting] = await once(child.stdout, 'data');
    const [url = ''] = /http:\S+/.exec(String(greeting)) ?? [];
    const { data, errors } = await ask(url, query);
    expect(errors).toBeUndefined();
    expect(data).toBeTruthy();
  } finally {
    child.kill('SIGTERM');
  }
  const [, signal] = await closed;
  expect(signal).not.toBe('SIGKILL'); // spawn's timeout sends it
});
