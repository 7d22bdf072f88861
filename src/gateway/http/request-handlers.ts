import type { IncomingMessage } from 'node:http';
import { isBearerHeader } from '../../util/bearer-token.ts';
import type { Caller } from '../../util/fair-share.ts';
import type { MemoryBudget } from '../../util/memory-budget.ts';
import type { Identity, RequestClient } from '../../util/request-client.ts';
import { addCorsHeaders, respondToPreflight } from './cors.ts';
import type { Authorize, Gateway } from './gateway-type.ts';
import type { LoadShedder } from './load-shedding.ts';
import type { createClientReader } from './read-client.ts';
import { readFetchArguments } from './read-fetch-arguments.ts';
import type { Body, createBodyReader } from './request-body.ts';
import {
  type Endpoint,
  EVENT_STREAM,
  type Routes,
  targetOf,
  validateHead,
} from './request-head.ts';
import {
  type createPipelining,
  type createSender,
  isPipelined,
  type Recipient,
  watchDisconnect,
} from './send-response.ts';

/** What both handlers of requests need. */
export type HandlerOptions = {
  readonly routes: Routes;
  readonly corsOrigins: readonly string[];
  readonly createId: () => string;
  readonly loadShedder: LoadShedder;
  readonly bodies: ReturnType<typeof createBodyReader>;
  readonly memory: MemoryBudget;
  readonly readClient: ReturnType<typeof createClientReader>;
  readonly identify: (authorization: string | null, network: () => string | null) => Identity;
  /** Gives each GraphQL request its Authorization header, instead of its client's. */
  readonly authorize: Authorize | undefined;
  readonly yoga: Yoga;
};

/** What Yoga gets with a request. */
type ServerContext = { readonly client: RequestClient; readonly caller: Caller };

type Respond = (request: Request, context: ServerContext) => Response | Promise<Response>;

/** The parts of Yoga that respond to requests. Its type is not imported: this folder does not depend on Yoga. */
type Yoga = {
  readonly fetchAPI: { readonly Request: typeof Request };
  readonly fetch: Respond;
  readonly handleRequest: Respond;
};

/** Creates the handler of a `Request`, see {@link Gateway}. */
export function createFetchHandler(options: HandlerOptions): Gateway['fetch'] {
  const { routes, corsOrigins, createId, loadShedder, bodies, yoga } = options;
  const { graphql: path } = routes;
  const open = createOpening(options);
  return async (input, init) => {
    const { signal, url, method, headers: sent, body: stream } = readFetchArguments(input, init);
    signal.throwIfAborted();
    const endpoint = routes.toEndpoint(method, new URL(url).pathname);
    using opened = open(endpoint, init?.remoteAddress, sent);
    const { caller, client, authorize } = opened;
    const readBody =
      stream && isOperation(endpoint, path) ? () => bodies.ofFetch(stream, caller) : undefined;
    const respond = async (body: Body | undefined) => {
      const toGiven = () =>
        typeof input === 'object' && 'headers' in input
          ? input
          : new Request(url, { method, headers: sent });
      const headers = authorize === null ? sent : await authorize(sent, toGiven());
      const members = { method, headers, signal, body: body ?? null };
      return yoga.fetch(new yoga.fetchAPI.Request(url, members), { client, caller });
    };
    const response =
      respondToPreflight(corsOrigins, { method, headers: sent }, createId) ??
      (await loadShedder.respond({ ...endpoint, caller, signal, readBody }, respond));
    if (response !== null) return addCorsHeaders(corsOrigins, response, sent);
    signal.throwIfAborted();
    throw new TypeError('The body of the request could not be read.');
  };
}

/** What the handler of a Node server needs beside that. */
type NodeHandlerOptions = HandlerOptions &
  ReturnType<typeof createSender> & {
    readonly waitForTurn: ReturnType<typeof createPipelining>;
    /** Responds to a POST without Yoga. False: Yoga must respond. */
    readonly respondFast: (
      request: { readonly headers: Pick<Headers, 'get'>; readonly client: RequestClient },
      recipient: Recipient,
      body: Body,
    ) => Promise<boolean>;
  };

/** Creates the handler of a request of a Node server, see {@link Gateway}. */
export function createNodeHandler(options: NodeHandlerOptions): Gateway['handle'] {
  const { routes, corsOrigins, createId, loadShedder, bodies, yoga, waitForTurn, respondFast } =
    options;
  const { graphql: path } = routes;
  const open = createOpening(options);
  return async (request, response, next) => {
    const target = targetOf(request);
    const endpoint = routes.toEndpoint(request.method, target);
    if (next !== undefined && endpoint.route !== path) return next();
    if (isPipelined(response) && !(await waitForTurn(request, response))) return;
    const invalid = validateHead(request, endpoint, routes);
    const isWanted = !invalid && isOperation(endpoint, path);
    const sent = { get: (name: string) => request.headers[name]?.toString() ?? null };
    const { remoteAddress } = request.socket; // undefined once the client has disconnected
    using opened = open(endpoint, remoteAddress, sent); // until the sender has the response
    const { caller, client, authorize } = opened;
    const recipient = { response, caller };
    const readBody = isWanted ? () => bodies.ofNode(request, caller) : undefined;
    const method = request.method ?? '';
    const respond = async (body: Body | undefined) => {
      if (invalid) return loadShedder.reject(invalid.error, invalid.status, endpoint);
      const authorized = authorize && (await authorize(entriesOf(request), request));
      const head = { headers: authorized ?? sent, client };
      if (body && target === path && (await respondFast(head, recipient, body))) return null;
      // Yoga's own conversion also reads what frameworks add to a request. Nothing depends on the host.
      return yoga.handleRequest(
        new yoga.fetchAPI.Request(`http://localhost${target}`, {
          method,
          headers: authorized ?? entriesOf(request),
          body: body ?? null,
          signal: watchDisconnect(response),
        }),
        { client, caller },
      );
    };
    const result =
      (invalid ? null : respondToPreflight(corsOrigins, { method, headers: sent }, createId)) ??
      (await loadShedder.respond({ ...endpoint, caller, readBody }, respond));
    if (result !== null)
      await sendResponse(options, recipient, addCorsHeaders(corsOrigins, result, sent));
  };
}

/** A larger response is not converted to a text, which would take more than 10 ms. */
const MAX_TEXT_BYTES = 2 ** 20;

async function sendResponse(
  { send, sendStream }: ReturnType<typeof createSender>,
  recipient: Recipient,
  response: Response,
): Promise<void> {
  const head = { status: response.status, headers: Object.fromEntries(response.headers) };
  if (response.body !== null && head.headers['content-type'] === EVENT_STREAM)
    await sendStream(recipient, head, response.body);
  else if (Number(head.headers['content-length']) > MAX_TEXT_BYTES)
    send(recipient, head, [Buffer.from(await response.arrayBuffer())]);
  else send(recipient, head, await response.text());
}

/**
 * Creates a function that reads whose request it is, and opens its memory. Disposing the result closes it. A request whose
 * Authorization header comes from the program has `authorize`, which returns its headers; the caller is then that of its
 * client's network.
 */
function createOpening({ routes, memory, readClient, identify, authorize }: HandlerOptions) {
  const addAuthorization = authorize === undefined ? null : createAuthorization(authorize);
  return (
    { route }: Endpoint,
    remoteAddress: string | undefined,
    headers: Pick<Headers, 'get'>,
  ) => {
    const { address, ...client } = readClient(remoteAddress, headers);
    const own = route === routes.graphql ? addAuthorization : null;
    const identity = identify(own === null ? headers.get('authorization') : null, address);
    const account = memory.open(identity.caller);
    return {
      caller: identity.caller,
      client: {
        ...client,
        address,
        memory: account,
        identity: own === null ? identity : undefined,
      },
      authorize: own,
      [Symbol.dispose]: () => account[Symbol.dispose](),
    };
  };
}

/** Creates a function that gives headers the Authorization header of the program. */
function createAuthorization(authorize: Authorize) {
  return async (headers: HeadersInit, request: IncomingMessage | Request): Promise<Headers> => {
    const authorized = new Headers(headers);
    authorized.delete('authorization');
    const given = await authorize(request);
    // A malformed one is rejected like that of a client, whatever characters it has.
    if (given != null) authorized.set('authorization', isBearerHeader(given) ? given : 'malformed');
    return authorized;
  };
}

function entriesOf({ headers }: IncomingMessage): [name: string, value: string][] {
  return Object.entries(headers).map(([name, value]) => [name, String(value)]);
}

/** Whether a request carries a GraphQL operation in its body. */
function isOperation({ method, route }: Endpoint, path: string): boolean {
  return method === 'POST' && route === path;
}
