import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { setup as build } from '../../test/helpers/build-package.ts';
import { type KeytrailProcess, startKeytrail } from '../../test/helpers/process.ts';

/** The resources of the process. Sizes in bytes, times in milliseconds. */
export type ResourceUsage = {
  /** Heap in use after a garbage collection. */
  readonly heap: number;
  /** Buffers outside the heap after the collection. */
  readonly buffers: number;
  /** Resident memory before the collection. */
  readonly rss: number;
  readonly socketsToService: number;
  readonly socketsFromClients: number;
  readonly files: number;
  /** Iterations of the event loop since the last measurement; 10 when idle. */
  readonly loopP99: number;
  readonly loopMax: number;
  readonly inFlight: number;
};

/** Keytrail from the bundle with production settings. */
export type MeasuredKeytrail = KeytrailProcess & {
  /** The GraphQL endpoint. */
  readonly url: string;
  measure(): Promise<ResourceUsage>;
  /** Bugs in the log, and all of stderr but the startup message. */
  complaints(): readonly string[];
  /** Sends SIGTERM and returns the exit status. */
  stop(): Promise<number | null>;
};

/**
 * Preloaded into the process. On SIGUSR2 it collects garbage twice, as finalizers release memory after the first
 * collection, and writes the memory usage. Plain JavaScript: loading Node's TypeScript support would take 20 MB.
 */
const PROBE = `process.on('SIGUSR2', () => {
  gc();
  setImmediate(() => {
    gc();
    process.stderr.write(JSON.stringify(process.memoryUsage()) + '\\n');
  });
})`;

/** Builds the bundle and starts it on free loopback ports. */
export async function startMeasuredKeytrail(
  serviceUrl: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<MeasuredKeytrail> {
  build();
  const process = startKeytrail(
    [],
    {
      NODE_ENV: 'production',
      NODE_OPTIONS: `--expose-gc --import data:text/javascript,${encodeURIComponent(PROBE)}`,
      PORT: '0',
      METRICS_PORT: '0',
      UPSTREAM_URL: serviceUrl,
      LOGIN_RATE_LIMIT: '0', // all logins come from one address
      ...environment,
    },
    'dist/main.js',
  );
  const [greeting, url = '', metricsUrl = ''] = await process.until(
    /^Keytrail.*GraphQL +(\S+).*Metrics +(\S+)\n\n/s,
  );
  const { child, output } = process;
  const probed: string[] = [];
  const scrape = async () => {
    const response = await fetch(metricsUrl).catch(() => null);
    if (response === null) throw new Error(`Keytrail has exited: ${output.stderr}`);
    return response.text();
  };

  return {
    ...process,
    url,
    measure: async () => {
      const metrics = await scrape();
      const metric = (name: string) =>
        Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1]);
      const socketsToService = await countSockets('remote', serviceUrl);
      const socketsFromClients = await countSockets('local', url);
      const written = once(child.stderr, 'data');
      child.kill('SIGUSR2');
      const line = String((await written)[0]);
      probed.push(line);
      await scrape(); // resets the event-loop metrics, to exclude the collection
      const { heapUsed, external } = JSON.parse(line);
      return {
        heap: heapUsed,
        buffers: external,
        rss: metric('process_resident_memory_bytes'),
        socketsToService,
        socketsFromClients,
        files: metric('process_open_fds'),
        loopP99: metric('nodejs_eventloop_lag_p99_seconds') * 1000,
        loopMax: metric('nodejs_eventloop_lag_max_seconds') * 1000,
        inFlight: metric('keytrail_requests_in_flight'),
      };
    },
    complaints: () => [
      ...output.stdout.split('\n').filter((line) => line.includes('"msg":"bug"')),
      ...[greeting, ...probed]
        .reduce((rest, known) => rest.replace(known, ''), output.stderr)
        .split('\n')
        .filter((line) => line !== ''),
    ],
    stop: () => {
      child.kill('SIGTERM');
      return process.status;
    },
  };
}

const LISTENING = '0A';

/** Counts this machine's open TCP sockets with the URL's port at one end, listening ones excluded. Linux only. */
async function countSockets(end: 'local' | 'remote', url: string): Promise<number> {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0');
  const [, ...lines] = (await readFile('/proc/net/tcp', 'utf8')).trimEnd().split('\n');
  return lines.filter((line) => {
    const [, local, remote, state, , , , , , inode] = line.trim().split(/\s+/);
    const address = end === 'local' ? local : remote;
    return address?.endsWith(`:${port}`) && state !== LISTENING && inode !== '0'; // inode 0: closed by its process
  }).length;
}
