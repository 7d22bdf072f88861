import { createGateway } from '../api/create-gateway.ts';
import { createSandbox } from '../api/create-sandbox.ts';
import type { GatewayOptions, UpstreamOptions } from '../api/gateway-options.ts';
import { requireSupportedNode } from '../api/node-version.ts';
import { type Document, LoginDocument, type Result, request } from '../client/request.ts';
import type { RestRequest } from '../sandbox/routes.ts';
import { type ScriptedResponse, validateScript } from '../sandbox/script.ts';
import type { Sandbox } from '../sandbox/server.ts';
import type { Gateway } from '../server/gateway-type.ts';
import { listen } from '../server/http-server.ts';
import { GRAPHQL_PATH } from '../server/routes.ts';

export type { RestRequest } from '../sandbox/routes.ts';
export type { ScriptedResponse } from '../sandbox/script.ts';

/** The options of {@link createTestbed}. */
export type TestbedOptions = {
  /** Options of the gateway. By default introspection is on and logins are not limited. */
  readonly gateway?: Partial<Omit<GatewayOptions, 'upstream' | 'now'>>;
  /** Options of the gateway's REST client. By default a call times out after 2000 ms. */
  readonly upstream?: Partial<Omit<UpstreamOptions, 'url'>>;
  /**
   * Whether the sandbox uses up credentials: a secret works once, then only the latest refresh token. Strict by default,
   * so that a test does not pass with a login that the service rejects.
   * @default true
   */
  readonly strictLogin?: boolean;
  /** The current time of the gateway and the sandbox, for example to let tokens expire. Default: the system clock. */
  readonly now?: () => Date;
};

/** A sandbox service, a gateway for it, and a logged-in client. Disposing it stops both servers. */
export type Testbed = AsyncDisposable & {
  /** URL of the GraphQL endpoint, on a free loopback port. */
  readonly url: string;
  readonly gateway: Gateway;
  readonly sandbox: Sandbox;
  /** The logged-in client and its tokens. */
  readonly clientId: string;
  readonly accessToken: string;
  readonly refreshToken: string;
  /** Sends an operation. The token is that of the logged-in client unless given; null sends none. */
  request<Data, Variables>(
    document: Document<Data, Variables>,
    variables: Variables,
    options?: { readonly token?: string | null },
  ): Promise<Result<Data>>;
  /**
   * Scripts the service's responses to its next requests, one each. The gateway retries a read once if its response is
   * lost before it starts or has status 502, 503 or 504: script two such responses to make a read fail.
   * @throws TypeError for a response that cannot be sent.
   */
  respondNext(...responses: readonly ScriptedResponse[]): void;
  /** The requests that the service received after the testbed's own login, oldest first. */
  readonly requests: readonly RestRequest[];
};

/**
 * Starts a sandbox and a gateway for it on loopback ports, with their data in memory, and logs a client in.
 * @throws Error on a Node that is too old.
 */
export async function createTestbed({
  gateway: options,
  upstream,
  strictLogin = true,
  now = () => new Date(),
}: TestbedOptions = {}): Promise<Testbed> {
  requireSupportedNode();
  await using stack = new AsyncDisposableStack();
  const requests: RestRequest[] = [];
  const scripted: ScriptedResponse[] = [];
  const sandbox = stack.use(
    await createSandbox({
      now,
      strictLogin,
      onRequest: (received) => {
        requests.push(received);
        return scripted.shift();
      },
    }),
  );
  const draining = new AbortController();
  const gateway = stack.use(
    createGateway({
      introspection: true,
      loginRateLimit: 0,
      ...options,
      now,
      upstream: { ...upstream, timeoutMs: upstream?.timeoutMs ?? 2000, url: sandbox.url },
    }),
  );
  const port = { host: '127.0.0.1', port: 0, draining, drainMs: 0, timeoutMs: 2000 };
  const { url } = stack.use(await listen(gateway, port));
  const client = await logIn(gateway, sandbox);
  requests.length = 0;

  const running = stack.move();
  return {
    url: `${url}${options?.path ?? GRAPHQL_PATH}`,
    gateway,
    sandbox,
    ...client,
    request: (document, variables, { token = client.accessToken } = {}) =>
      request(document, variables, { fetch: gateway.fetch, token: token ?? undefined }),
    respondNext: (...responses) => {
      for (const response of responses) validateScript(response);
      scripted.push(...responses);
    },
    requests,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function logIn({ fetch }: Gateway, { clients: [first] }: Sandbox) {
  const { clientId = '', secret: clientSecret = '' } = first ?? {};
  const variables = { clientId, credential: { clientSecret } };
  const { data, errors = [] } = await request(LoginDocument, variables, { fetch });
  const { accessToken, refreshToken } = data?.login ?? {};
  if (accessToken === undefined || refreshToken == null) {
    throw new Error(`The testbed's client could not log in: ${errors[0]?.message}`);
  }
  return { clientId, accessToken, refreshToken };
}
