import { matchRoute, REST_ROUTES, type RestRequest, type RestRoute } from '../sandbox/routes.ts';
import { type ScriptedResponse, validateScript } from '../sandbox/script.ts';

/** A scripted response, for the next request or for the next one that `to` matches. */
export type TestbedResponse = ScriptedResponse & {
  /** A route, or a function that returns whether the request gets this response. Default: any request. */
  readonly to?: RestRoute | ((request: RestRequest) => boolean);
};

/** The responses that wait for their requests. */
export type Script = {
  /** @throws TypeError for a response that cannot be sent. Then none is added. */
  readonly add: (...responses: readonly TestbedResponse[]) => void;
  /** Removes and returns the oldest response for a request; undefined if none is scripted. */
  readonly take: (request: RestRequest) => ScriptedResponse | undefined;
  /** @throws Error that lists the responses that are left. */
  readonly assertDone: () => void;
};

/** Creates a script without responses. */
export function createScript(): Script {
  const waiting: TestbedResponse[] = [];
  return {
    add: (...responses) => {
      for (const { to, ...response } of responses) {
        validateScript(response);
        if (to !== undefined && typeof to !== 'function' && !REST_ROUTES.includes(to)) {
          const routes = REST_ROUTES.join(', ');
          throw new TypeError(`\`to\` must be a function or one of these routes: ${routes}.`);
        }
      }
      waiting.push(...responses);
    },
    take: (request) => {
      const index = waiting.findIndex(({ to }) => matches(to, request));
      if (index < 0) return undefined;
      const [found] = waiting.splice(index, 1);
      const { to: _, ...response } = found ?? {};
      return response;
    },
    assertDone: () => {
      if (waiting.length === 0) return;
      const lines = waiting.map((response) => `- ${describe(response)}`).join('\n');
      throw new Error(`No request received these scripted responses:\n${lines}`);
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
