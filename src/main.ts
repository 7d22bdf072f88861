#!/usr/bin/env node
import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeUnsupportedServer } from './gateway/api/node-version.ts';
import { HELP } from './terminal/built-help.ts';
import { LocalFailure } from './terminal/local-failure.ts';
import { lockFile } from './terminal/lock-file.ts';
import { openOutput, print } from './terminal/output.ts';
import { printAtOnce } from './terminal/print-at-once.ts';
import { replaceFile } from './terminal/replace-file.ts';
import { VERSION } from './util/version.ts';

const problem = describeUnsupportedServer();
if (problem !== null) {
  process.stderr.write(`keytrail ${problem}\n`);
  process.exit(1);
}

const stopping = new AbortController();
/** Under npm, one Ctrl-C arrives twice: from the terminal and from npm. */
const REPEAT_MS = 1000;
let stoppedAt = Number.NEGATIVE_INFINITY;
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  process.on(signal, () => {
    // A second signal exits at once. It must be handled here: as PID 1 of a container there is no default action.
    const now = performance.now();
    if (!stopping.signal.aborted) stoppedAt = now;
    else if (now > stoppedAt + REPEAT_MS) process.exit(128 + constants.signals[signal]);
    stopping.abort(constants.signals[signal]);
  });
}
process.on('uncaughtException', (bug: unknown) => {
  const { name = typeof bug, stack = '' } = Object(bug);
  const at = /^ {4}at .*$/m.exec(stack)?.[0].trim(); // without the message, which may quote a value
  process.stderr.write(`keytrail: stopping because of a bug: ${name} ${at}\n`);
  process.exitCode = 1;
  stopping.abort();
});

// Keep serving if the process that reads the log exits (EPIPE).
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

const args = process.argv.slice(2);
const text = printAtOnce(args, VERSION, HELP);
let isHeld = false;
const runtime = {
  arguments: args,
  environment: process.env,
  stdout: process.stdout,
  openOutput: () => openOutput(process.stdout),
  stderr: process.stderr,
  stdin: process.stdin,
  fetch: globalThis.fetch,
  readFile: (path: string) => readFileSync(path, 'utf8'),
  replaceFile,
  lockFile: (path: string) =>
    lockFile(path, {
      ...{ pid: process.pid, id: randomUUID(), now: () => new Date() },
      kill: (pid, signal) => process.kill(pid, signal),
    }),
  version: VERSION,
  now: () => new Date(),
  clock: () => performance.now(),
  random: Math.random,
  pause: (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal }),
  createId: randomUUID,
  createToken: () => randomBytes(32).toString('base64url'),
  loadSdk: () => {
    // The SDK reads it, and would also send the command line, which may hold the password of Redis.
    process.env['OTEL_NODE_RESOURCE_DETECTORS'] ||= 'env,host';
    return import('@opentelemetry/sdk-node');
  },
  stopping: stopping.signal,
  memoryBytes: process.constrainedMemory(),
  exit: () => {
    isHeld = true;
  },
};
async function start(): Promise<number> {
  const { run } = await import('./terminal/run.ts');
  return run(runtime, {
    serve: async (settings, data) => {
      const { serve } = await import('./gateway/serve/serve.ts');
      const { trace } = await import('@opentelemetry/api');
      const getTracer = () => trace.getTracer('keytrail', VERSION);
      await serve({ ...runtime, getTracer }, settings, async () => {
        const { startSandbox } = await import('./testing/sandbox/server.ts');
        return await startSandbox({ ...runtime, host: '127.0.0.1', port: 0, ...data });
      });
    },
    runSandbox: async (options) => {
      const { runSandbox } = await import('./testing/sandbox/run-sandbox.ts');
      await runSandbox(runtime, { ...runtime, ...options });
    },
    printSchema: async (options) =>
      (await import('./gateway/serve/print-schema.ts')).printSchema(options),
  });
}
async function printText(text: string): Promise<number> {
  try {
    await print(runtime, text);
    return 0;
  } catch (error) {
    if (!(error instanceof LocalFailure)) throw error;
    process.stderr.write(`keytrail: ${error.message}\n`);
    return 1;
  }
}
const status = text === undefined ? await start() : await printText(text);
process.exitCode ??= status;
// What does not respond gets a second at most: the reader of the log, or the collector of spans.
if (stopping.signal.aborted)
  setTimeout(() => (isHeld || process.stdout.writableLength > 0) && process.exit(), 1000).unref();
