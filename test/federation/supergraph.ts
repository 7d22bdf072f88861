import { readFileSync } from 'node:fs';
import { startApolloGateway } from '../../examples/federation/apollo-gateway.ts';
import { startHiveGateway } from '../../examples/federation/hive-gateway.ts';
import { createOwners } from '../../examples/federation/owners.ts';
import { type RouterOptions, type Running, serve } from '../../examples/federation/serve.ts';
import { gatewayOver, type Overrides, onPort, type Result } from '../helpers/gateway.ts';
import {
  type Handler,
  type Service,
  type ServiceResponse,
  startService,
} from '../helpers/service.ts';

const EXAMPLE = new URL('../../examples/federation/', import.meta.url);

/** A file of the example. */
export function readExample(file: string): string {
  return readFileSync(new URL(file, EXAMPLE), 'utf8');
}

/** The two subgraphs on ports, over a service. */
export type Subgraphs = AsyncDisposable & {
  readonly service: Service;
  /** What Keytrail logged, a line a request. */
  readonly logged: readonly string[];
  /** The headers of every request to the owners, names and values in turn. */
  readonly toldOwners: readonly (readonly string[])[];
  /** Where Keytrail has GraphQL. */
  readonly keytrail: string;
  /** Closes Keytrail, whose port then goes on answering that it is closed. */
  readonly closeKeytrail: () => Promise<void>;
  /** Closes the owners' port. */
  readonly stopOwners: () => Promise<void>;
  /** Puts the addresses of these for those that the example's files name. */
  readonly moveHere: (text: string) => string;
  /** And back. */
  readonly moveBack: (text: string) => string;
};

/** Starts a service, Keytrail over it, and the owners. */
export async function startSubgraphs(
  answer: Handler | ServiceResponse = { body: [] },
  overrides: Overrides = {},
): Promise<Subgraphs> {
  await using starting = new AsyncDisposableStack();
  const service = starting.use(await startService(answer));
  const gateway = starting.use(gatewayOver(service.url, overrides));
  const keytrail = `${starting.use(await onPort(gateway)).url}/graphql`;
  const toldOwners: string[][] = [];
  const owners = createOwners();
  const ownersPort = starting.use(
    await serve((request, response) => {
      toldOwners.push(request.rawHeaders);
      void owners(request, response);
    }, 0),
  );
  const { url } = ownersPort;
  const moves = [
    ['http://127.0.0.1:4000/graphql', keytrail],
    ['http://127.0.0.1:4002/graphql', url],
  ] as const;
  const running = starting.move();
  return {
    service,
    logged: gateway.logged,
    toldOwners,
    keytrail,
    closeKeytrail: async () => gateway[Symbol.asyncDispose](),
    stopOwners: async () => ownersPort[Symbol.asyncDispose](),
    moveHere: (text) => moves.reduce((moved, [from, to]) => moved.replaceAll(from, to), text),
    moveBack: (text) => moves.reduce((moved, [from, to]) => moved.replaceAll(to, from), text),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** The routers of the example, by name. */
export const ROUTERS = { 'Apollo Gateway': startApolloGateway, 'Hive Gateway': startHiveGateway };

/** The whole graph: a router over the subgraphs. */
export type Graph = Subgraphs & {
  /** Where the router has GraphQL. */
  readonly router: string;
  /** Asks the router. */
  ask<Data>(query: string, asking?: Asking): Promise<Result<Data>>;
};

/** Starts a router with the example's supergraph over subgraphs of its own. */
export async function startGraph(
  startRouter: (options: RouterOptions) => Promise<Running>,
  answer?: Handler | ServiceResponse,
  overrides?: Overrides,
): Promise<Graph> {
  await using starting = new AsyncDisposableStack();
  const subgraphs = starting.use(await startSubgraphs(answer, overrides));
  const supergraphSdl = subgraphs.moveHere(readExample('supergraph.graphql'));
  const router = starting.use(await startRouter({ supergraphSdl, port: 0 }));
  const running = starting.move();
  return {
    ...subgraphs,
    router: router.url,
    ask: (query, asking) => ask(router.url, query, asking),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** What goes with a query. */
export type Asking = {
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly authorization?: string | undefined;
};

/** Asks a server. */
export async function ask<Data>(
  url: string,
  query: string,
  { variables = {}, authorization }: Asking = {},
): Promise<Result<Data>> {
  return post(
    url,
    JSON.stringify({ query, variables }),
    authorization === undefined ? {} : { authorization },
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
