import DataLoader from 'dataloader';
import { GatewayError } from '../errors.ts';
import { findDrift } from '../inference/drift.ts';
import { completeAudit } from '../inference/index.ts';
import { sufficientPrefix } from '../inference/records.ts';
import type { ConfiguredContract } from '../mapping/contract.ts';
import type { NextPage, PageToken } from '../mapping/pagination.ts';
import { readTrail, type Trail } from '../mapping/trail.ts';
import type { FetchPage } from '../pagination/connection.ts';
import { parseBearer } from '../upstream/bearer.ts';
import { type Path, withParameter } from '../upstream/path.ts';
import type { RestClient, UnauthenticatedCalls } from '../upstream/rest-client.ts';
import type { Trace, UpstreamResponse } from '../upstream/types.ts';

/** What every resolver is given, for one request: nothing in it outlives the request or is shared with another. */
export type Context = {
  /** Counts a login of the caller; throws RATE_LIMITED when there were too many of that client or from where he is. */
  readonly admitLogin: (clientId: string) => Promise<void>;
  /** Calls without a token. */
  readonly open: UnauthenticatedCalls;
  /** Calls with the caller's token; without a well-formed one they throw UNAUTHENTICATED and send nothing. */
  readonly authorized: {
    /**
     * Gets a trail, page by page: each once, however many fields ask for it. Ends when the caller leaves. A large answer
     * is only read as far as is enough, where the one field that asks for it says that it looks at nothing else.
     */
    getTrail(path: Path, isCuttable?: () => boolean): FetchPage;
    delete(path: Path): Promise<UpstreamResponse>;
  };
  /** Counts the fields of entities that are asked for by representation; throws OPERATION_TOO_COMPLEX for more than 2000. */
  readonly admitEntityFields: (count: number) => void;
  /** Where the service's answers hold what. */
  readonly contract: ConfiguredContract;
  readonly now: () => Date;
  /**
   * Lets go of what was read, when all is answered. Promises that have waited for it are in V8's old generation by then
   * and would keep it, with all that it leads to, until that is collected: a fifth of the time for a large answer.
   */
  forget(): void;
};

/** What the contexts of all requests have in common. */
export type SharedServices = {
  readonly client: RestClient;
  /** Counts a login, by its address too where that is known; throws RATE_LIMITED when there were too many. */
  readonly admitLogin: (clientId: string, address: string | null) => Promise<void>;
  readonly contract: ConfiguredContract;
  /** Is told which entries of the contract led to nothing. */
  readonly reportDrift: (entries: readonly string[]) => void;
  readonly now: () => Date;
};

/** Representations are neither in the document nor few: no other limit holds for what fails once for each of them. */
const MAX_ENTITY_FIELDS = 2000;

/** Makes the context of one request: from its headers, the signal that says that its caller left, the address it came from, and its trace. */
export function createContext(
  { client, admitLogin, contract, reportDrift, now }: SharedServices,
  request: { readonly headers: { get(name: string): string | null }; readonly signal: AbortSignal },
  { address, trace }: { readonly address: () => string | null; readonly trace: Trace },
): Context {
  const calls = client.of(trace);
  const authorized = () => calls.authorized(parseBearer(request.headers.get('authorization')));

  /** Of a link only its query is followed, so that no cursor can lead to another path. */
  const withoutPath = (next: NextPage, from: Path): NextPage => {
    if (next === null || !('link' in next)) return next;
    const to = client.follow(next.link, from);
    if (to === null) return { missing: 'audit.paging' };
    return { link: to.value.slice(to.value.indexOf('?')) };
  };
  const read: Trail[] = [];
  const readOne = async ({ path, from, step, enough, isCuttable }: TrailKey): Promise<Trail> => {
    const prefix =
      enough !== undefined && isCuttable()
        ? sufficientPrefix(enough, contract.audit?.records)
        : undefined;
    const answer = await authorized().get('audit', path, { signal: request.signal, prefix });
    const trail = readTrail(completeAudit(answer, contract.audit), answer, step);
    read.push(trail);
    const drift = findDrift(answer, contract.audit, trail);
    if (drift.length > 0) reportDrift(drift);
    return { ...trail, next: () => withoutPath(trail.next(), from) };
  };
  const createTrails = () =>
    new DataLoader<TrailKey, Trail, string>(
      (keys) => Promise.all(keys.map((key) => orError(() => readOne(key)))),
      // The service reads one trail at a time, so there is nothing to collect for longer.
      { cacheKeyFn: ({ path }) => path.value, batchScheduleFn: queueMicrotask },
    );
  let trails: ReturnType<typeof createTrails> | undefined; // a mutation reads none
  let entityFields = 0;

  return {
    admitLogin: (clientId) => admitLogin(clientId, address()),
    open: calls.unauthenticated,
    authorized: {
      getTrail:
        (from, isCuttable = () => false) =>
        async (step, enough) => {
          trails ??= createTrails();
          const path = toPath(client, from, step);
          return trails.load({ path, from, step, enough, isCuttable });
        },
      delete: (path) => authorized().delete('secrets', path),
    },
    admitEntityFields: (count) => {
      entityFields += count;
      if (entityFields <= MAX_ENTITY_FIELDS) return;
      const message = `The request asks for more than ${MAX_ENTITY_FIELDS} fields of entities. Split it.`;
      throw new GatewayError('OPERATION_TOO_COMPLEX', { message });
    },
    contract,
    now,
    forget: () => {
      for (const trail of read) trail.release();
    },
  };
}

type TrailKey = {
  readonly path: Path;
  /** The path of the trail's first page, and what led from there to this one. */
  readonly from: Path;
  readonly step: PageToken | null;
  /** So many records are enough, where the answer may be cut; left out, the whole answer is wanted. */
  readonly enough: number | undefined;
  readonly isCuttable: () => boolean;
};

function toPath(client: RestClient, from: Path, step: PageToken | null): Path {
  if (step === null) return from;
  if (!('link' in step)) return withParameter(from, { name: step.parameter, value: step.value });
  const to = client.follow(step.link, from);
  if (to !== null) return to;
  throw new GatewayError('BAD_USER_INPUT', { message: 'This is not a cursor of this trail.' });
}

/** DataLoader wants one failed key's error in its place, not a failed batch. */
async function orError<T>(work: () => Promise<T>): Promise<T | Error> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
}
