import DataLoader from 'dataloader';
import { readTrail, type Trail } from './reading/trail.ts';
import { readBearer } from './rest/bearer.ts';
import type { OpenCalls, RestClient } from './rest/client.ts';
import type { Path } from './rest/path.ts';
import type { Answer } from './rest/response.ts';

/** What every resolver is given, for one request: nothing in it outlives the request or is shared with another. */
export type Context = {
  /** Calls without a token. */
  readonly open: OpenCalls;
  /** Calls with the caller's token; without a well-formed one they throw UNAUTHENTICATED and send nothing. */
  readonly authorized: {
    /** Reads each path once, however many fields ask for it; again after a `delete`. Ends when the caller leaves. */
    get(path: Path): Promise<Answer>;
    delete(path: Path): Promise<Answer>;
  };
  /** The trail that an answer holds, found once. */
  readonly trails: DataLoader<Answer, Trail>;
  readonly now: () => Date;
};

/** Makes the context of one request, from its headers and the signal that says that its caller left. */
export function createContext(
  client: RestClient,
  request: { readonly headers: { get(name: string): string | null }; readonly signal: AbortSignal },
  now: () => Date,
): Context {
  const authorized = () => client.authorized(readBearer(request.headers.get('authorization')));
  const answers = new DataLoader<Path, Answer>((paths) =>
    Promise.all(paths.map((path) => orError(() => authorized().get(path, request.signal)))),
  );
  return {
    open: client.open,
    authorized: {
      get: (path) => answers.load(path),
      delete: async (path) => {
        const calls = authorized();
        try {
          return await calls.delete(path);
        } finally {
          answers.clearAll(); // what was read before is out of date
        }
      },
    },
    trails: new DataLoader((read) =>
      Promise.all(read.map((answer) => orError(async () => readTrail(answer)))),
    ),
    now,
  };
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
