import { readFileSync } from 'node:fs';
import { createIdentity } from '../../examples/federation/identity.ts';
import { createOwners } from '../../examples/federation/owners.ts';
import type { Running } from '../../examples/federation/serve.ts';
import {
  gatewayOver,
  type Overrides,
  onPort,
  type Result,
  type TestGateway,
} from '../helpers/gateway.ts';
import {
  type Handler,
  type ReceivedRequest,
  type Service,
  type ServiceResponse,
  startService,
} from '../helpers/service.ts';

const EXAMPLE = new URL('../../examples/federation/', import.meta.url);

/** A file of the example. */
export function readExample(file: string): string {
  return readFileSync(new URL(file, EXAMPLE), 'utf8');
}

/** The subgraphs on ports, Keytrail in front of a service. */
export type Subgraphs = AsyncDisposable & {
  readonly service: Service;
  /** The requests in Keytrail's log, but those for its schema. */
  readonly keytrailRequests: () => readonly string[];
  /** The queries that the owners subgraph received. Grafbase also requests its schema, every two seconds. */
  readonly ownersQueries: () => readonly ReceivedRequest[];
  /** The same of the identity subgraph, which only an existing graph has. */
  readonly identityQueries: () => readonly ReceivedRequest[];
  /** Keytrail's GraphQL URL. */
  readonly keytrail: string;
  /** Replaces Keytrail, at the same URL, and the service's responses. Forgets the requests so far. */
  readonly replaceKeytrail: (
    response: Handler | ServiceResponse,
    overrides?: Overrides,
  ) => Promise<void>;
  /** Closes Keytrail. Its port stays open and responds 503. */
  readonly closeKeytrail: () => Promise<void>;
  /** Closes Keytrail's port. */
  readonly stopKeytrail: () => Promise<void>;
  /** Closes the port of the owners subgraph. */
  readonly stopOwners: () => Promise<void>;
  /** Replaces the URLs in a file of the example by those of these subgraphs. */
  readonly toTestUrls: (text: string) => string;
  /** The reverse of `toTestUrls`. */
  readonly toExampleUrls: (text: string) => string;
};

/** Starts a service, Keytrail in front of it, and the other subgraphs. */
export async function startSubgraphs(
  response: Handler | ServiceResponse = { body: [] },
  overrides: Overrides = {},
): Promise<Subgraphs> {
  await using starting = new AsyncDisposableStack();
  let respond = response;
  const service = starting.use(
    await startService((...call) => (typeof respond === 'function' ? respond(...call) : respond)),
  );
  let gateway = gatewayOver(service.url, overrides);
  starting.defer(() => gateway[Symbol.asyncDispose]());
  const handle: TestGateway['handle'] = (...call) => gateway.handle(...call);
  const keytrailPort = starting.use(await onPort({ handle }));
  const keytrail = `${keytrailPort.url}/graphql`;
  const ownersPort = starting.use(new AsyncDisposableStack());
  const owners = ownersPort.use(await startSubgraph(createOwners()));
  const identity = starting.use(await startSubgraph(createIdentity()));
  const urls = [
    ['http://127.0.0.1:4000/graphql', keytrail],
    ['http://127.0.0.1:4002/graphql', `${owners.url}/graphql`],
    ['http://127.0.0.1:4003/graphql', `${identity.url}/graphql`],
  ] as const;
  const running = starting.move();
  return {
    service,
    keytrailRequests: () => gateway.logged.filter((line) => !line.includes('"fields":"_service"')),
    ownersQueries: () => queriesOf(owners),
    identityQueries: () => queriesOf(identity),
    keytrail,
    replaceKeytrail: async (nextResponse, nextOverrides = {}) => {
      await gateway[Symbol.asyncDispose]();
      for (const each of [service, owners, identity]) each.forget();
      respond = nextResponse;
      gateway = gatewayOver(service.url, nextOverrides);
    },
    closeKeytrail: async () => gateway[Symbol.asyncDispose](),
    stopKeytrail: async () => keytrailPort[Symbol.asyncDispose](),
    stopOwners: () => ownersPort.disposeAsync(),
    toTestUrls: (text) => urls.reduce((result, [from, to]) => result.replaceAll(from, to), text),
    toExampleUrls: (text) => urls.reduce((result, [from, to]) => result.replaceAll(to, from), text),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Serves a subgraph of the example, and records what it receives. */
function startSubgraph(subgraph: ReturnType<typeof createOwners>): Promise<Service> {
  return startService(async ({ body, headers: { authorization } }) => {
    const headers = { 'content-type': 'application/json', ...(authorization && { authorization }) };
    const url = 'http://subgraph.test/graphql';
    const response = await subgraph.fetch(url, { method: 'POST', headers, body });
    // Node closes idle connections after 5 s. A router that sends a query in this moment cannot reach the subgraph.
    const closing = { connection: 'close' };
    return { status: response.status, headers: closing, body: await response.text() };
  });
}

function queriesOf({ seen }: Service): readonly ReceivedRequest[] {
  return seen.filter(({ body }) => !body.includes('_service'));
}

/** Starts a router in front of subgraphs. */
export type StartRouter = (subgraphs: Subgraphs) => Promise<Running>;

/** The federated graph: a router in front of the subgraphs. */
export type Graph = Subgraphs & {
  /** The router's GraphQL URL. */
  readonly router: string;
  /** Sends a query to the router. */
  ask<Data>(query: string, options?: RequestOptions): Promise<Result<Data>>;
};

/** Starts a router with the example's supergraph in front of new subgraphs. */
export async function startGraph(
  startRouter: StartRouter,
  response?: Handler | ServiceResponse,
  overrides?: Overrides,
): Promise<Graph> {
  await using starting = new AsyncDisposableStack();
  const subgraphs = starting.use(await startSubgraphs(response, overrides));
  const router = starting.use(await startRouter(subgraphs));
  const running = starting.move();
  return {
    ...subgraphs,
    router: router.url,
    ask: (query, options) => ask(router.url, query, options),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** What a request contains besides the query. */
export type RequestOptions = {
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly authorization?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Sends a query to a server. */
export async function ask<Data>(
  url: string,
  query: string,
  { variables = {}, authorization, headers = {} }: RequestOptions = {},
): Promise<Result<Data>> {
  return post(
    url,
    JSON.stringify({ query, variables }),
    authorization === undefined ? headers : { ...headers, authorization },
  );
}

/** Sends any body to a server. */
export async function post<Data>(
  url: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Result<Data>> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, ...JSON.parse(text) };
}

/** A payload of `auditEvents`. */
export type Payload<Node> = Pick<Result<never>, 'errors'> & {
  readonly data?: {
    readonly auditEvents: {
      readonly nodes: readonly Node[];
      readonly checkpoint: string;
      readonly previous: string | null;
    } | null;
  };
};

/** Subscribes to `auditEvents`. Returns the response and its payloads, until the stream is complete. */
export async function subscribe<Node = { readonly id: string }>(
  url: string,
  {
    fields = 'id',
    after = null,
    signal = null,
    authorization,
    headers,
    field = 'auditEvents',
  }: RequestOptions & {
    /** Selected of each event. */
    readonly fields?: string;
    readonly after?: string | null;
    /** The name of `auditEvents` in the graph. */
    readonly field?: string;
    /** Disconnects. */
    readonly signal?: AbortSignal | null;
  } = {},
): Promise<{ readonly status: number; readonly payloads: AsyncGenerator<Payload<Node>, null> }> {
  const query = `subscription ($after: String) {
    auditEvents: ${field}(after: $after) { nodes { ${fields} } checkpoint previous }
  }`;
  const { status, body } = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      ...headers,
      ...(authorization !== undefined && { authorization }),
    },
    body: JSON.stringify({ query, variables: { after } }),
    signal,
  });
  if (body === null) throw new TypeError(`Status ${status} without a body.`);
  return { status, payloads: readPayloads(body) };
}

/** Grafbase ends lines with CRLF, and writes no space after the colon. */
async function* readPayloads<Node>(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<Payload<Node>, null> {
  let text = '';
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const events = `${text}${chunk}`.replaceAll('\r\n', '\n').split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const [, name, data = ''] = /^event: ?(\w+)\ndata: ?(.*)$/.exec(event.trim()) ?? [];
      if (name === 'complete') return null;
      if (name === 'next') yield JSON.parse(data);
    }
  }
  throw new TypeError('The stream broke off.');
}

/** All values of a header, as received. */
export function wireValues(rawHeaders: readonly string[], name: string): readonly string[] {
  return rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name,
  );
}
