import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { startKeytrail } from '../../test/helpers/process.ts';

/**
 * Preloaded into the process. On SIGUSR2 it collects garbage twice, as finalizers release memory after the first
 * collection, and writes an empty line. Plain JavaScript: loading Node's TypeScript support would take 20 MB.
 */
const COLLECTOR = `process.on('SIGUSR2', () => {
  gc();
  setImmediate(() => {
    gc();
    process.stderr.write('\\n');
  });
})`;

/** Builds the bundle and starts it on free loopback ports, with production settings. */
export async function startMeasuredKeytrail(
  serviceUrl: string,
  environment: Readonly<Record<string, string>> = {},
) {
  execFileSync('npm', ['run', '--silent', 'build'], {
    cwd: new URL('../..', import.meta.url),
  });
  const process = startKeytrail(
    [],
    {
      NODE_ENV: 'production',
      NODE_OPTIONS: `--expose-gc --import data:text/javascript,${encodeURIComponent(COLLECTOR)}`,
      PORT: '0',
      METRICS_PORT: '0',
      UPSTREAM_URL: serviceUrl,
      LOGIN_RATE_LIMIT: '0', // all logins come from one address
      ...environment,
    },
    'dist/keytrail/dist/main.js',
  );
  const [, url = '', metricsUrl = ''] = await process.until(
    /"url":"(\S+?)","metrics":"(\S+?)","msg":"listening"/,
  );
  const { child, output } = process;
  const readMetrics = async () => {
    const response = await fetch(metricsUrl).catch(() => null);
    if (response === null) throw new Error(`Keytrail has exited: ${output.stderr}`);
    const metrics = await response.text();
    return (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1]);
  };

  return {
    ...process,
    /** The GraphQL endpoint. */
    url,
    /** The resources of the process. Sizes in bytes, times in milliseconds. */
    measure: async () => {
      const before = await readMetrics();
      const socketsToService = await countSockets('remote', serviceUrl);
      const socketsFromClients = await countSockets('local', url);
      const collected = once(child.stderr, 'data');
      child.kill('SIGUSR2');
      await collected;
      const after = await readMetrics(); // resets the event-loop metrics, to exclude the collection
      return {
        heap: after('nodejs_heap_size_used_bytes'),
        buffers: after('nodejs_external_memory_bytes'),
        rss: before('process_resident_memory_bytes'), // the collection would lower it
        socketsToService,
        socketsFromClients,
        files: before('process_open_fds'),
        // iterations since the last measurement; 10 when idle
        loopP99: before('nodejs_eventloop_lag_p99_seconds') * 1000,
        loopMax: before('nodejs_eventloop_lag_max_seconds') * 1000,
        inFlight: before('keytrail_requests_in_flight'),
        subscriptions: before('keytrail_subscriptions'),
      };
    },
    /** Subscriptions in progress. */
    subscriptions: async () => (await readMetrics())('keytrail_subscriptions'),
    /** Sends SIGTERM. Returns the exit status, bugs in the log, and all of stderr but the startup message. */
    stop: async () => {
      child.kill('SIGTERM');
      const status = await process.status;
      const bugs = output.stdout.split('\n').filter((line) => line.includes('"msg":"bug"'));
      const errors = output.stderr.split('\n').filter(Boolean);
      return { status, complaints: [...bugs, ...errors] };
    },
  };
}

/** Counts this machine's open TCP sockets with the URL's port at one end, listening ones excluded. Linux only. */
async function countSockets(end: 'local' | 'remote', url: string): Promise<number> {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0');
  const lines = (await readFile('/proc/net/tcp', 'utf8')).trimEnd().split('\n');
  return lines.filter((line) => {
    const [, local, remote, state, , , , , , inode] = line.trim().split(/\s+/);
    const isListening = state === '0A';
    const isClosedByItsProcess = inode === '0';
    const address = end === 'local' ? local : remote;
    return address?.endsWith(`:${port}`) && !isListening && !isClosedByItsProcess;
  }).length;
}
