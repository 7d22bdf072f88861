/** The files of `src/` whose functions a first request enters, as JSON: a process of its own, in which nothing ran before. */
import { Session } from 'node:inspector/promises';
import { ask, gatewayOver } from './gateway.ts';
import { startService } from './service.ts';

const { query = '', body = '' } = JSON.parse(process.argv[2] ?? '{}');
const inspector = new Session();
inspector.connect();
await inspector.post('Profiler.enable');
await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
await using service = await startService({ body });
await using gateway = gatewayOver(service.url);
await inspector.post('Profiler.takePreciseCoverage'); // counts from here on
const { errors } = await ask(gateway, query, {}, { token: 'token' });
const { result } = await inspector.post('Profiler.takePreciseCoverage');
const root = new URL('../../src/', import.meta.url).href;
const files = result
  .filter(
    ({ url, functions }) =>
      url.startsWith(root) && functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0),
  )
  .map(({ url }) => url.slice(root.length));
process.stdout.write(JSON.stringify({ errors, files: files.toSorted() }));
