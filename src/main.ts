#!/usr/bin/env node
import { randomBytes, randomUUID } from 'node:crypto';
import { constants } from 'node:os';
import { trace } from '@opentelemetry/api';
import manifest from '../package.json' with { type: 'json' };
import { run } from './commands/run.ts';

if (Number.parseInt(process.versions.node, 10) < 24) {
  process.stderr.write(`keytrail needs Node 24 or later, and this is ${process.version}.\n`);
  process.exit(1);
}

const stopping = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    // A second one ends it at once; said in words, since nothing ends the first process of a container by itself.
    if (stopping.signal.aborted) process.exit(128 + constants.signals[signal]);
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
