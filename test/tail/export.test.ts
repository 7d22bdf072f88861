import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, statSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Order, startPagedTrail } from '../helpers/paged-trail.ts';
import { COMPILE_CACHE, startKeytrail } from '../helpers/process.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const KILLS = Number(process.env['KILLS'] ?? 10);
const ORDERS: readonly Order[] = ['newest-first', 'oldest-first'];

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keytrail-export-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Starts an export that appends to a file. */
function startExport(
  file: string,
  checkpoint: string,
  args: readonly string[],
  environment: object,
) {
  const child = spawn(
    process.execPath,
    ['src/main.ts', 'audit', '--checkpoint', checkpoint, '--output', 'ndjson', ...args],
    {
      cwd: ROOT,
      env: { ...COMPILE_CACHE, KEYTRAIL_TOKEN: 'token', ...environment },
      stdio: ['ignore', openSync(file, 'a'), 'inherit'],
    },
  );
  return { child, closed: once(child, 'close') };
}

/** The events of the file. A line that was cut off by a kill is no JSON. */
async function readEvents(
  file: string,
): Promise<readonly { readonly id: string; readonly key: string }[]> {
  const lines = (await readFile(file, 'utf8')).split('\n');
  return lines.flatMap((line) => {
    try {
      return [JSON.parse(line)];
    } catch {
      return [];
    }
  });
}

/** Waits until the file has grown, or the time is over: then the export is between a write and the next one. */
async function untilGrown(file: string, ms: number): Promise<void> {
  const { size } = statSync(file);
  const end = performance.now() + ms;
  while (performance.now() < end && statSync(file).size === size) await wait(1);
}

describe.each(ORDERS)('an export of 20,000 events, %s', (order) => {
  it(`that is killed at ${KILLS} moments and goes on loses none, and repeats some with equal keys`, async () => {
    await using trail = await startPagedTrail(order, 20_000);
    const [file, checkpoint] = [join(folder, `${order}.ndjson`), join(folder, `${order}.json`)];
    const verify = async () => {
      const events = await readEvents(file);
      expect(new Set(events.map(({ id }) => id))).toEqual(new Set(trail.ids()));
      expect(new Set(events.map(({ key }) => key)).size).toBe(20_000);
    };
    await writeFile(file, '');
    let kills = 0;
    while (kills < KILLS) {
      const { child, closed } = startExport(file, checkpoint, [], { UPSTREAM_URL: trail.url });
      const isEarly = kills % 2 === 0;
      const moment = isEarly ? wait(2500 * Math.random()) : untilGrown(file, 20_000);
      const ended = await Promise.race([moment, closed]);
      if (ended === undefined) {
        if (!isEarly) await wait(3 * Math.random());
        child.kill('SIGKILL');
        await closed;
        kills += 1;
        continue;
      }
      expect(ended).toEqual([0, null]);
      await verify();
      await rm(checkpoint);
      await writeFile(file, '');
    }
    const { closed } = startExport(file, checkpoint, [], { UPSTREAM_URL: trail.url });
    expect(await closed).toEqual([0, null]);
    await verify();
  });

  it('that follows the trail over a restart of the gateway loses no event, and repeats none', async () => {
    await using trail = await startPagedTrail(order, 1500);
    const [file, checkpoint] = [join(folder, `f-${order}.ndjson`), join(folder, `f-${order}.json`)];
    await writeFile(file, '');
    const environment = { UPSTREAM_URL: trail.url, PORT: '0' };
    const start = async (port: string) => {
      const gateway = startKeytrail(['serve'], { ...environment, PORT: port });
      const [, url = ''] = await gateway.until(/GraphQL +(http:\/\/\S+)\/graphql/);
      return { gateway, url };
    };
    const first = await start('0');
    const { child, closed } = startExport(
      file,
      checkpoint,
      ['--follow', '--gateway', first.url],
      {},
    );
    const written = async () => (await readEvents(file)).length;
    await expect.poll(written, { timeout: 60_000, interval: 200 }).toBe(1500);
    trail.add(3);
    await expect.poll(written, { timeout: 60_000, interval: 200 }).toBe(1503);
    first.gateway.child.kill('SIGKILL');
    await first.gateway.status;
    trail.add(4);
    const second = await start(new URL(first.url).port);
    await expect.poll(written, { timeout: 60_000, interval: 200 }).toBe(1507);
    child.kill('SIGINT');
    expect(await closed).toEqual([130, null]);
    await second.gateway[Symbol.asyncDispose]();
    expect((await readEvents(file)).map(({ id }) => id).sort()).toEqual([...trail.ids()].sort());
  });
});
