import { createGateway } from '../api/create-gateway.ts';
import { createSandbox } from '../api/create-sandbox.ts';
import type { GatewayOptions, UpstreamOptions } from '../api/gateway-options.ts';
import { type Document, LoginDocument, type Result, request } from '../client/client.ts';
import { checkScript, type ScriptedResponse } from '../sandbox/script.ts';
import type { RestRequest, Sandbox } from '../sandbox/server.ts';
import { listen } from '../server/http-server.ts';
import type { Gateway } from '../server/types.ts';

export type { ScriptedResponse } from '../sandbox/script.ts';
export type { RestRequest } from '../sandbox/server.ts';

/** What a test may want otherwise. */
export type TestbedOptions = {
  /** Options of the gateway; introspection is on and calls to the service end after two seconds unless given. */
  readonly gateway?: Partial<Omit<GatewayOptions, 'upstream' | 'now'>>;
  readonly upstream?: Partial<Omit<UpstreamOptions, 'url'>>;
  /** The time of day for the gateway and the service, as to let tokens end. Default: the system's. */
  readonly now?: () => Date;
};

/** A sandbox service, a gateway over it and a client that is logged in. Disposing it ends them all. */
export type Testbed = AsyncDisposable & {
  /** Where GraphQL is: a loopback port of its own, for programs that want an address. */
  readonly url: string;
  readonly gateway: Gateway;
  readonly sandbox: Sandbox;
  /** Who is logged in, and with what. */
  readonly clientId: string;
  readonly accessToken: string;
  readonly refreshToken: string;
  /** Sends an operation with the token of the client that is logged in, or with another; null sends none. */
  request<Data, Variables>(
    document: Document<Data, Variables>,
    variables: Variables,
    options?: { readonly token?: string | null },
  ): Promise<Result<Data>>;
  /**
   * Says how the service answers its next requests, one each; after them it answers by itself again. A read that is
   * lost, or answered with 502, 503 or 504, is tried once more: it takes two of these to fail.
   * @throws TypeError for what cannot be sent.
   */
  respondNext(...answers: readonly ScriptedResponse[]): void;
  /** What the service was sent since the login that came with the testbed, the first one first. */
  readonly requests: readonly RestRequest[];
};

/** Starts everything that a test of a program over Keytrail needs, on loopback ports and in memory. */
export async function createTestbed({
  gateway: options,
  upstream,
  now = () => new Date(),
}: TestbedOptions = {}): Promise<Testbed> {
  await using stack = new AsyncDisposableStack();
  const requests: RestRequest[] = [];
  const answers: ScriptedResponse[] = [];
  const sandbox = stack.use(
    await createSandbox({
      now,
      onRequest: (seen) => {
        requests.push(seen);
        return answers.shift();
      },
    }),
  );
  const draining = new AbortController();
  const gateway = stack.use(
    createGateway({
      introspection: true,
      loginRateLimit: 0,
      draining: draining.signal,
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
    url: `${url}/graphql`,
    gateway,
    sandbox,
    ...client,
    request: (document, variables, { token = client.accessToken } = {}) =>
      request(document, variables, { fetch: gateway.fetch, token: token ?? undefined }),
    respondNext: (...more) => {
      for (const answer of more) checkScript(answer);
      answers.push(...more);
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
    throw new Error(`The testbed's client cannot log in: ${errors[0]?.message}`);
  }
  return { clientId, accessToken, refreshToken };
}
