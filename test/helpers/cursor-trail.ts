import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Order, trailEvent } from './paged-trail.ts';
import { keytrailInProcess } from './process.ts';
import { type Handler, type ServiceResponse, startService } from './service.ts';

/** Where a response has what leads to its next page. */
export type Style = 'next-link' | 'link-header' | 'cursor';
export const STYLES: readonly Style[] = ['next-link', 'link-header', 'cursor'];

/** What services respond with to a cursor that has expired. The last ones look like the end of the list, and like its beginning. */
export const REFUSALS: Readonly<Record<string, ServiceResponse | 'the first page'>> = {
  400: { status: 400, body: '{"error":"bad cursor"}' },
  404: { status: 404 },
  410: { status: 410 },
  422: { status: 422 },
  'a body that says 410': { body: '{"code":410,"message":"expired"}' },
  'a body with an error': { body: '{"error":"invalid cursor"}' },
  'an empty page': { body: '{"events":[],"next":null}' },
  'the first page': 'the first page',
};

type TrailOptions = {
  readonly style?: Style;
  readonly order?: Order;
  readonly size?: number;
  readonly refusal?: ServiceResponse | 'the first page';
  readonly toEvent?: (number: number) => object;
};

/** Starts a service whose cursors are valid for one run of an export. */
export async function startCursorTrail(
  count: number,
  {
    style = 'next-link',
    order = 'oldest-first',
    size = 100,
    refusal = { status: 410 },
    toEvent = trailEvent,
  }: TrailOptions = {},
) {
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  let run = 0;
  let last = count;
  const create = () => {
    last += 1;
    return last;
  };
  const add = (more: number) => {
    for (let added = 0; added < more; added += 1) numbers.push(create());
  };
  let own: Handler = () => undefined;
  const service = await startService(async (seen, response, request) => {
    const intercepted = await own(seen, response, request);
    if (intercepted !== undefined) return intercepted;
    const given = cursorOf(seen.url);
    const [of, after] = given?.split('~') ?? [];
    const isExpired = given !== null && Number(of) !== run;
    if (isExpired && refusal !== 'the first page') return refusal;
    const isNewest = order === 'newest-first';
    const list = isNewest ? numbers.toReversed() : numbers;
    const from = after === undefined || isExpired ? 0 : list.indexOf(Number(after)) + 1;
    const page = list.slice(from, from + size);
    const cursor = from + size < list.length ? `${run}~${page.at(-1)}` : null;
    const events = page.map(toEvent);
    const next = cursor && `/api/v1/audit?cursor=${encodeURIComponent(cursor)}`;
    return style === 'link-header'
      ? { body: { events }, ...(next && { headers: { link: `<${next}>; rel="next"` } }) }
      : { body: { events, next: style === 'cursor' ? cursor : next } };
  });
  const folder = await mkdtemp(join(tmpdir(), 'keytrail-cursors-'));
  const [contract, checkpoint] = [join(folder, 'contract.json'), join(folder, 'checkpoint.json')];
  const paging = {
    'next-link': { style, next: '/next' },
    'link-header': { style },
    cursor: { style, next: '/next', parameter: 'cursor' },
  }[style];
  await writeFile(contract, JSON.stringify({ audit: { paging } }));
  const environment = {
    ...{ UPSTREAM_URL: service.url, KEYTRAIL_CONTRACT: contract },
    KEYTRAIL_TOKEN: 'canary-access-token',
  };
  return {
    ...service,
    ...{ environment, checkpoint },
    /** Runs an export to its end. After that no cursor is valid any more, unless it says otherwise. */
    export: async ({ keepsCursors = false, args = [], ...others }: ExportOptions = {}) => {
      await using command = keytrailInProcess(['audit', '--checkpoint', checkpoint, ...args], {
        ...environment,
        ...others.environment,
      });
      const status = await command.status;
      const lines = command.output.stdout.split('\n').slice(0, -1);
      const ids = lines.map((line): string => JSON.parse(line).id);
      if (!keepsCursors) run += 1;
      return { status, ids, stderr: command.output.stderr.replaceAll(/\n +/g, ' ') };
    },
    /** The cursors of the requests that the service has received; null for the first page. */
    cursors: () => service.seen.map(({ url }) => cursorOf(url)),
    add,
    /** Adds an event before the newest ones. */
    addLate: (newer: number) => {
      numbers.splice(numbers.length - newer, 0, create());
    },
    /** Removes all events, and adds others. */
    replace: (others: number) => {
      last += 10_000;
      numbers.splice(0);
      add(others);
    },
    intercept: (handler: Handler) => {
      own = handler;
    },
    ids: () => numbers.map((number) => `e${number}`),
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}

const cursorOf = (url: string) => new URL(url, 'http://service.test').searchParams.get('cursor');

type ExportOptions = {
  readonly keepsCursors?: boolean;
  readonly args?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
};
