import { type NamesOf, rejectUnknownNames } from './sandbox/known-names.ts';
import { matchRoute, REST_ROUTES, type RestRequest, type RestRoute } from './sandbox/routes.ts';
import { SCRIPTED_RESPONSE, type ScriptedResponse, validateScript } from './sandbox/script.ts';

/** A scripted response, for the next request or for the next one that `to` matches. */
export type TestbedResponse = ScriptedResponse & {
  /** How many requests get it, 1 or more; Infinity for all, until the script is cleared. @default 1 */
  readonly times?: number;
  /** A route, or a function that returns whether the request gets this response. Default: any request. */
  readonly to?: RestRoute | ((request: RestRequest) => boolean);
};

/** The names of the members of a response. */
const RESPONSE: NamesOf<TestbedResponse> = { ...SCRIPTED_RESPONSE, times: true, to: true };

/** The responses that wait for their requests. */
export type Script = {
  /** @throws TypeError for a response that cannot be sent. Then none is added. */
  readonly add: (...responses: readonly TestbedResponse[]) => void;
  /** Removes and returns the oldest response for a request; undefined if none is scripted. */
  readonly take: (request: RestRequest) => ScriptedResponse | undefined;
  /** @throws Error that lists the responses that are left. One for all requests is left if no request got it. */
  readonly assertDone: () => void;
  /** Removes the responses that are left. */
  readonly clear: () => void;
};

/** Creates a script without responses. */
export function createScript(): Script {
  let waiting: { readonly response: TestbedResponse; left: number; isUsed: boolean }[] = [];
  return {
    add: (...responses) => {
      for (const each of responses) {
        rejectUnknownNames(each, RESPONSE, 'a member of a scripted response');
        const { to, times = 1, ...response } = each;
        validateScript(response);
        if (!(times >= 1 && (Number.isInteger(times) || times === Number.POSITIVE_INFINITY)))
          throw new TypeError('`times` must be an integer, 1 or more, or Infinity.');
        if (to !== undefined && typeof to !== 'function' && !REST_ROUTES.includes(to)) {
          const routes = REST_ROUTES.join(', ');
          throw new TypeError(`\`to\` must be a function or one of these routes: ${routes}.`);
        }
      }
      for (const response of responses)
        waiting.push({ response, left: response.times ?? 1, isUsed: false });
    },
    take: (request) => {
      const found = waiting.find(({ response: { to } }) => matches(to, request));
      if (found === undefined) return undefined;
      found.left -= 1;
      found.isUsed = true;
      waiting = waiting.filter(({ left }) => left > 0);
      const { to: _to, times: _times, ...response } = found.response;
      return response;
    },
    assertDone: () => {
      const unused = waiting.filter(({ left, isUsed }) => Number.isFinite(left) || !isUsed);
      if (unused.length === 0) return;
      const lines = unused.map(
        ({ response, left }) =>
          `- ${describe(response)}${left > 1 && left < Infinity ? `, ${left} times` : ''}`,
      );
      throw new Error(`No request received these scripted responses:\n${lines.join('\n')}`);
    },
    clear: () => {
      waiting = [];
    },
  };
}

function matches(to: TestbedResponse['to'], request: RestRequest): boolean {
  if (typeof to === 'function') return to(request);
  return to === undefined || matchRoute(to, request) !== null;
}

/** Without headers and body, which may hold a secret. */
function describe({ to, status, delayMs, lost, body }: TestbedResponse): string {
  const route = typeof to === 'function' ? 'a request that `to` matches' : (to ?? 'any request');
  const parts = [
    status !== undefined && `status ${status}`,
    body !== undefined && 'a body',
    delayMs !== undefined && `delayed by ${delayMs} ms`,
    lost !== undefined && `lost ${lost === 'before' ? 'before it' : 'within its body'}`,
  ];
  return `to ${route}: ${parts.filter(Boolean).join(', ') || 'the sandbox’s own response'}`;
}
