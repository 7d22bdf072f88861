#!/usr/bin/env node
import { randomBytes, randomUUID } from 'node:crypto';
import { constants } from 'node:os';
import { trace } from '@opentelemetry/api';
import manifest from '../package.json' with { type: 'json' };
import { run } from './cli/run.ts';

// Before 24.16, and in 25, Node tells of pipelined answers that only the last is closed: the others would be kept for ever.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 16) || major === 25) {
  process.stderr.write(`keytrail needs Node 24.16, 26 or later, and this is ${process.version}.\n`);
  process.exit(1);
}

const stopping = new AbortController();
/** Ctrl-C reaches whom npm has started twice: from the terminal and from npm. */
const REPEAT_MS = 1000;
let stoppedAt = Number.NEGATIVE_INFINITY;
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    // A later one ends it at once; said in words, since nothing ends the first process of a container by itself.
    const now = performance.now();
    if (!stopping.signal.aborted) stoppedAt = now;
    else if (now > stoppedAt + REPEAT_MS) process.exit(128 + constants.signals[signal]);
    stopping.abort();
  });
}
process.on('uncaughtException', (bug: unknown) => {
  const { name = typeof bug, stack = '' } = Object(bug);
  const at = /^ {4}at .*$/m.exec(stack)?.[0].trim(); // the message may quote what was being worked on
  process.stderr.write(`keytrail: stopping because of a bug: ${name} ${at}\n`);
  process.exitCode = 1;
  stopping.abort();
});

// Who reads the log may go away; that is no reason to stop serving.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

const status = await run({
  arguments: process.argv.slice(2),
  environment: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  version: manifest.version,
  now: () => new Date(),
  clock: () => performance.now(),
  random: Math.random,
  createId: randomUUID,
  createToken: () => randomBytes(32).toString('base64url'),
  tracer: trace.getTracer('keytrail', manifest.version),
  stopping: stopping.signal,
});
process.exitCode ??= status;
// Who reads the log may have stopped: the rest of it is waited for no longer than this.
if (stopping.signal.aborted)
  setTimeout(() => process.stdout.writableLength > 0 && process.exit(), 1000).unref();
