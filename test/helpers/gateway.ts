import { randomUUID } from 'node:crypto';
import { trace } from '@opentelemetry/api';
import { pino } from 'pino';
import type { TypedDocumentString } from '../../src/client/operations.generated.ts';
import { loadSettings } from '../../src/gateway/config/load.ts';
import { byOption, SETTING_NAMES } from '../../src/gateway/config/settings.ts';
import { assembleGateway, type GatewayDependencies } from '../../src/gateway/gateway.ts';
import type { Gateway } from '../../src/gateway/http/gateway-type.ts';
import {
  type ListeningServer,
  type ListenOptions,
  listen,
} from '../../src/gateway/http/http-server.ts';

/** A gateway under test, with its log lines. */
export type TestGateway = Gateway & { readonly logged: string[] };

/** Dependencies that a test overrides. */
export type Overrides = Partial<Omit<GatewayDependencies, 'upstream'>> & {
  readonly upstream?: Partial<GatewayDependencies['upstream']>;
};

/** The settings of a gateway for which nothing is set. */
const { config } = loadSettings({
  ...{ settings: SETTING_NAMES, environment: {}, flags: {}, problems: [] },
  readFile: () => '',
});

/** Creates a gateway in front of a service, with development settings and a short deadline. */
export function gatewayOver(
  serviceUrl: string,
  { upstream, ...rest }: Overrides = {},
): TestGateway {
  const logged: string[] = [];
  const gateway = assembleGateway({
    ...byOption('', config),
    upstream: {
      ...byOption('upstream.', config),
      url: new URL(serviceUrl),
      headers: {},
      timeoutMs: 5000,
      connections: 8,
      maxBytes: 2 ** 20,
      ...upstream,
    },
    loginRateLimit: 0,
    path: '/graphql',
    contract: {},
    playground: null,
    maxLagMs: Number.POSITIVE_INFINITY, // on a busy machine, tests lag by seconds
    log: pino({ base: null }, { write: (line: string) => void logged.push(line) }),
    now: () => new Date(),
    clock: () => performance.now(),
    random: Math.random,
    tracer: trace.getTracer('keytrail'),
    createId: randomUUID,
    draining: new AbortController().signal,
    ...rest,
  });
  return { ...gateway, logged };
}

/** A GraphQL error as JSON. */
export type WireError = {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly locations?: readonly { readonly line: number; readonly column: number }[];
  readonly extensions: {
    readonly code: string;
    readonly retryable: boolean;
    readonly retryAfterSeconds?: number;
    readonly reason?: string;
    readonly upstream?: { readonly status: number };
    readonly requestId: string;
  };
};

/** A response of the gateway. */
export type Result<Data> = {
  readonly status: number;
  readonly headers: Headers;
  readonly data?: Data | null;
  readonly errors?: readonly WireError[];
  readonly text: string;
};

/** Sends an operation through the gateway's `fetch`, with the token as `Bearer`. */
export async function ask<Data, Variables>(
  { fetch }: Pick<Gateway, 'fetch'>,
  query: TypedDocumentString<Data, Variables> | string,
  variables?: Variables,
  { token, headers }: { token?: string; headers?: Readonly<Record<string, string>> } = {},
): Promise<Result<Data>> {
  return post({ fetch }, JSON.stringify({ query, variables }), {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...headers,
  });
}

/**
 * Reads once with each token: the service has then accepted it, so that it is a caller of its own. Until then, all are
 * the network of their client.
 */
export async function acceptTokens(
  gateway: Pick<Gateway, 'fetch'>,
  ...tokens: readonly string[]
): Promise<void> {
  for (const token of tokens) {
    const result = await ask(gateway, '{ audit { totalCount } }', {}, { token });
    if (codeOf(result) !== '') throw new Error(result.text);
  }
}

/** Sends any body. */
export async function post<Data>(
  { fetch }: Pick<Gateway, 'fetch'>,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Result<Data>> {
  const response = await fetch(
    new Request('http://gateway.test/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    }),
  );
  const text = await response.text();
  const { status } = response;
  return { status, headers: response.headers, text, ...JSON.parse(text) };
}

/** The code of a result; several are separated by commas. */
export function codeOf({ errors = [] }: Pick<Result<unknown>, 'errors'>): string | undefined {
  const codes = new Set(errors.map(({ extensions }) => extensions.code));
  return [...codes].join(',');
}

/** Serves a gateway on a free loopback port. */
export function onPort(
  gateway: Pick<Gateway, 'handle'>,
  options: Partial<ListenOptions> = {},
): Promise<ListeningServer> {
  return listen(gateway, {
    ...{ host: '127.0.0.1', port: 0, draining: new AbortController(), drainMs: 0 },
    ...{ timeoutMs: 5000, corsOrigins: [], ...options },
  });
}
