import type { Fetch } from '../client/request.ts';
import { GRAPHQL_PATH } from '../gateway/api/gateway-options.ts';
import { ConfigError } from '../gateway/config/config-error.ts';
import { loadSettings } from '../gateway/config/load.ts';
import { byOption } from '../gateway/config/settings.ts';
import { isPlainHttp, PLAIN_HTTP } from '../gateway/config/value-types.ts';
import type { ListOrder } from '../gateway/mapping/contract.ts';
import { compileIdentity } from '../gateway/mapping/event.ts';
import { proxyFor } from '../util/proxy.ts';
import type { CommandLine } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import type { CommandRuntime } from './runtime.ts';

/** The commands that log in, or send a token. */
export type ClientCommand =
  | 'login'
  | 'audit'
  | 'delete-key'
  | 'learn'
  | 'record'
  | 'check'
  | 'status'
  | 'token';

/** A gateway that a command sends operations to. Disposing it closes its connections to the service. */
export type OpenGateway = AsyncDisposable & {
  readonly fetch: Fetch;
  /** Of the GraphQL endpoint. */
  readonly url: string;
  /** What a session belongs to: the service, or the gateway at a URL. */
  readonly of: string;
  /** What identifies a record. Undefined if that is not known: the contract is that of the gateway. */
  readonly identityOf?: (record: unknown) => unknown;
  /** The order of the trail, if the contract has it. */
  readonly order?: ListOrder | undefined;
};

/** The URL of the GraphQL endpoint of a running gateway. */
export function endpointOf(gateway: URL): string {
  return new URL(gateway.pathname === '/' ? GRAPHQL_PATH : gateway, gateway).href;
}

/**
 * Opens the gateway that a command names: the running one of `--gateway`, or one to the service in this process, without
 * a port. What the other one needs is not loaded: most of the time of a start is loading the GraphQL server.
 * @throws ConfigError for invalid settings, and if neither is given.
 */
export async function openGateway(
  runtime: CommandRuntime,
  commandLine: CommandLine,
  command: ClientCommand,
): Promise<OpenGateway> {
  const { config, contract, tls, headers } = loadSettings({
    ...runtime,
    ...commandLine,
    ...COMMANDS[command],
  });
  const { gateway: running, flags } = commandLine;
  if (running !== undefined && flags['UPSTREAM_URL'] !== undefined)
    throw new ConfigError(['--gateway is in front of its own service: remove --upstream-url.']);
  if (running !== undefined) {
    const url = endpointOf(running);
    if (isPlainHttp(url) && !config.UPSTREAM_ALLOW_HTTP)
      throw new ConfigError([`--gateway ${PLAIN_HTTP} Set UPSTREAM_ALLOW_HTTP=on to allow it.`]);
    const proxy = proxyFor(running, byOption('upstream.', config));
    const connection =
      proxy === undefined
        ? { fetch: runtime.fetch, [Symbol.asyncDispose]: async () => {} }
        : (await import('../gateway/api/fetch-through.ts')).fetchThrough(proxy);
    const fetch = runtime.requests.watch(failFast(connection.fetch), url);
    return { ...connection, fetch, url, of: url };
  }
  if (config.UPSTREAM_URL === undefined)
    throw new ConfigError([
      `${command} needs UPSTREAM_URL, the URL of the service, or --gateway, that of a running gateway.`,
    ]);
  const { createGatewayWith } = await import('../gateway/api/create-gateway.ts');
  const gateway = createGatewayWith(
    {
      maxLagMs: Number.POSITIVE_INFINITY, // a busy machine is no reason to refuse its only client
      observer: { upstream: { onAttempt: runtime.requests.onAttempt } },
    },
    {
      upstream: { ...byOption('upstream.', config), url: config.UPSTREAM_URL, tls, headers },
      ...{ contract, explain: true, loginRateLimit: 0, forwardClient: false },
    },
  );
  return {
    fetch: runtime.requests.watch(failFast(gateway.fetch)),
    url: `http://127.0.0.1${GRAPHQL_PATH}`, // nothing is sent there
    of: config.UPSTREAM_URL.href,
    identityOf: compileIdentity(contract.audit?.identity ?? null),
    order: contract.audit?.order ?? undefined,
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

/** A stream that waits for the service says nothing meanwhile: a command waits itself, and says so. */
const failFast =
  (fetch: Fetch): Fetch =>
  (url, { headers, ...init }) =>
    fetch(url, { ...init, headers: { ...headers, 'x-keytrail-fail-fast': '1' } });
