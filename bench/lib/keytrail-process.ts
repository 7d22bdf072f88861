import { once } from 'node:events';
import { setup as build } from '../../test/helpers/build-package.ts';
import { keytrail, type Process } from '../../test/helpers/process.ts';
import { countSockets } from './sockets.ts';

/** What can be seen of the process from outside. Sizes are bytes, times milliseconds. */
export type Look = {
  /** Objects that are alive after a collection. */
  readonly heap: number;
  /** Buffers outside of the heap that are alive after it. */
  readonly buffers: number;
  /** Memory of the whole process, before the collection. */
  readonly rss: number;
  readonly socketsToService: number;
  readonly socketsFromCallers: number;
  readonly files: number;
  /** From one look of the event loop at the clock to the next, since the last time, 10 when it has nothing to do. */
  readonly loopP99: number;
  readonly loopMax: number;
  readonly inFlight: number;
};

/** Keytrail from the bundle, as production runs it: only what a load needs is set. */
export type KeytrailProcess = Process & {
  /** Where GraphQL is. */
  readonly url: string;
  look(): Promise<Look>;
  /** What it wrote that it should not have: bugs in the log, and all on stderr but the greeting. */
  complaints(): readonly string[];
  /** Asks it to stop, and gives its exit status. */
  stop(): Promise<number | null>;
};

/**
 * Loaded into the process before anything else, as plain JavaScript, since Node's way to read TypeScript would take
 * 20 MB more. When it is signalled it collects garbage, a second time for what finalizers let go, and says what is left.
 */
const PROBE = `process.on('SIGUSR2', () => {
  gc();
  setImmediate(() => {
    gc();
    process.stderr.write(JSON.stringify(process.memoryUsage()) + '\\n');
  });
})`;

/** Builds the bundle and starts it over a service, on free loopback ports. */
export async function startKeytrail(
  serviceUrl: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<KeytrailProcess> {
  build();
  const process = keytrail(
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
    if (response === null) throw new Error(`Keytrail is gone: ${output.stderr}`);
    return response.text();
  };

  return {
    ...process,
    url,
    look: async () => {
      const metrics = await scrape();
      const metric = (name: string) =>
        Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1]);
      const socketsToService = await countSockets('other', Number(new URL(serviceUrl).port));
      const socketsFromCallers = await countSockets('own', Number(new URL(url).port));
      const said = once(child.stderr, 'data');
      child.kill('SIGUSR2');
      const line = String((await said)[0]);
      const { heapUsed, external } = JSON.parse(line);
      probed.push(line);
      await scrape(); // it begins to watch the event loop anew, so that the collection does not count
      return {
        heap: heapUsed,
        buffers: external,
        rss: metric('process_resident_memory_bytes'),
        socketsToService,
        socketsFromCallers,
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
