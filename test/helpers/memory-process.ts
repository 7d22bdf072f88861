import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeHeapSnapshot } from 'node:v8';
import { createGateway } from '../../src/gateway/api/create-gateway.ts';
import { listen } from '../../src/gateway/http/http-server.ts';
import type { Memory } from './memory.ts';

const [, , url = ''] = process.argv;
const gateway = createGateway({ upstream: { url } });
const draining = new AbortController();
const server = await listen(gateway, {
  host: '127.0.0.1',
  port: 0,
  draining,
  drainMs: 0,
  timeoutMs: 1000,
  corsOrigins: [],
});

process.once('disconnect', () => process.exit()); // the test has ended
process.on('message', (request) => {
  if (request === 'snapshot') {
    process.send?.(writeHeapSnapshot(join(tmpdir(), `${process.pid}.heapsnapshot`)));
    return;
  }
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  const memory: Memory = {
    alive: heapUsed + external,
    peak: process.resourceUsage().maxRSS * 1024,
  };
  process.send?.(memory);
});
process.send?.(`${server.url}/graphql`);
