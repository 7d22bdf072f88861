import { setTimeout as sleep } from 'node:timers/promises';
import { type Batch, createFollow } from '../client/follow.ts';
import {
  AuditEventsDocument,
  type AuditEventsSubscription,
  type AuditEventsSubscriptionVariables,
  type Document,
  type FollowOptions,
  LoginDocument,
  type Result,
  request,
} from '../client/index.ts';
import { createGatewayWith, type Gateway } from '../gateway/api/create-gateway.ts';
import {
  type CallTimers,
  type GatewayOptions,
  GRAPHQL_PATH,
  type UpstreamOptions,
} from '../gateway/api/gateway-options.ts';
import { listenOnLoopback } from '../gateway/api/listen-on-loopback.ts';
import { requireSupportedNode } from '../gateway/api/node-version.ts';
import { createSandbox } from './create-sandbox.ts';
import type { SandboxEvent } from './sandbox/event.ts';
import { type NamesOf, rejectUnknownNames } from './sandbox/known-names.ts';
import type { RestRequest } from './sandbox/routes.ts';
import type { SandboxClient } from './sandbox/seed.ts';
import type { Sandbox } from './sandbox/server.ts';
import { createScript, type TestbedResponse } from './script.ts';

export type { SandboxEvent } from './sandbox/event.ts';
export type { RestRequest, RestRoute } from './sandbox/routes.ts';
export type { ScriptedResponse } from './sandbox/script.ts';
export type { SandboxClient } from './sandbox/seed.ts';
export type { TestbedResponse } from './script.ts';

/** The options of {@link createTestbed}. */
export type TestbedOptions = {
  /** Options of the gateway. By default introspection and explain are on, and logins are not limited. */
  readonly gateway?: Partial<Omit<GatewayOptions, 'upstream' | 'now'>>;
  /** Options of the gateway's REST client. By default a call times out after 2000 ms. */
  readonly upstream?: Partial<Omit<UpstreamOptions, 'url'>>;
  /**
   * The clients of the sandbox. The first one is logged in.
   * @default demo-admin, demo-reports and demo-old-ci
   */
  readonly clients?: readonly SandboxClient[];
  /**
   * The whole audit trail when the test begins.
   * @default 360 events of the last ninety days, and the login of the first client
   */
  readonly events?: readonly SandboxEvent[];
  /**
   * Whether the sandbox uses up credentials: a secret works once, then only the latest refresh token. Strict by default,
   * so that a test does not pass with a login that the service rejects.
   * @default true
   */
  readonly strictLogin?: boolean;
  /**
   * A file that `keytrail record` has written: the trail is read from it, page by page. Logins and deletions are the
   * sandbox's. `gateway.contract` must be the one with which it was recorded.
   */
  readonly recording?: string | undefined;
  /** The time at which `advance` begins. Default: the system clock. */
  readonly now?: () => Date;
};

/** The names of the options. */
const OPTIONS: NamesOf<TestbedOptions> = {
  gateway: true,
  upstream: true,
  clients: true,
  events: true,
  strictLogin: true,
  recording: true,
  now: true,
};

/** The options of `request` of a testbed. */
type TestbedRequestOptions = { readonly token?: string | null; readonly explain?: boolean };

const REQUEST_OPTIONS: NamesOf<TestbedRequestOptions> = { token: true, explain: true };

/** The options of `follow` of a testbed. */
type TestbedFollowOptions = Pick<FollowOptions, 'after' | 'signal'>;

const FOLLOW_OPTIONS: NamesOf<TestbedFollowOptions> = { after: true, signal: true };

/** A batch of new events. */
export type AuditEvents = Batch<NonNullable<AuditEventsSubscription['auditEvents']>>;

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
  /**
   * Sends an operation. The token is that of the logged-in client unless given; null sends none. With `explain`, the
   * result has `extensions.explain`.
   */
  request<Data, Variables>(
    document: Document<Data, Variables>,
    variables: Variables,
    options?: TestbedRequestOptions,
  ): Promise<Result<Data>>;
  /**
   * New events of the trail, in batches, with the token of the logged-in client. The gateway polls every 20 ms. The first
   * batch comes at once, and is empty: events that the test causes after it are delivered.
   */
  follow(
    variables?: Omit<AuditEventsSubscriptionVariables, 'after'>,
    options?: TestbedFollowOptions,
  ): AsyncIterableIterator<AuditEvents>;
  /**
   * Adds events to the trail, all or none.
   * @throws TypeError for an event that is not valid.
   */
  addEvents(events: readonly SandboxEvent[]): void;
  /**
   * Scripts the service's responses to its next requests, one each; one with `to` only for a request that it matches.
   * The gateway retries a read once if its response is lost before it starts or has status 502, 503 or 504: script two
   * such responses to make a read fail.
   * @throws TypeError for a response that cannot be sent.
   */
  respondNext(...responses: readonly TestbedResponse[]): void;
  /** @throws Error that lists the scripted responses that no request has received. */
  assertDone(): void;
  /** Removes the scripted responses that are left. */
  clearResponses(): void;
  /**
   * The requests that the service received after the testbed's own login, or after the last `clear()`, oldest first.
   */
  readonly requests: readonly RestRequest[] & { clear(): void };
  /**
   * Moves the clock of the gateway and the sandbox forward, by milliseconds: tokens expire, and an open circuit breaker
   * accepts a call again. Before a retry the gateway does not wait: it moves this clock instead.
   * @throws RangeError for a negative number, or none.
   */
  advance(ms: number): void;
};

/**
 * Starts a sandbox and a gateway for it on loopback ports, with their data in memory, and logs a client in.
 * @throws TypeError for options, clients or events that are not valid, and Error on a Node that is too old.
 */
export async function createTestbed(options: TestbedOptions = {}): Promise<Testbed> {
  requireSupportedNode();
  rejectUnknownNames(options, OPTIONS, 'an option of a testbed');
  // Not AsyncDisposableStack, which Node 22 lacks.
  const parts: AsyncDisposable[] = [];
  const dispose = async (): Promise<void> => {
    const last = parts.pop();
    try {
      await last?.[Symbol.asyncDispose]();
    } finally {
      if (parts.length > 0) await dispose();
    }
  };
  const use = <Part extends AsyncDisposable>(part: Part): Part => {
    parts.push(part);
    return part;
  };
  try {
    return { ...(await startTestbed(options, use)), [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** Starts the parts of a testbed, and passes those that are to be disposed to `use`. */
async function startTestbed(
  {
    gateway: options,
    upstream,
    clients,
    events,
    strictLogin = true,
    recording,
    now = () => new Date(),
  }: TestbedOptions,
  use: <Part extends AsyncDisposable>(part: Part) => Part,
): Promise<Omit<Testbed, typeof Symbol.asyncDispose>> {
  const clock = createClock(now);
  const requests: RestRequest[] = [];
  const script = createScript();
  const sandbox = use(
    await createSandbox({
      now: clock.now,
      strictLogin,
      clients,
      events,
      recording,
      onRequest: (received) => {
        requests.push(received);
        return script.take(received);
      },
    }),
  );
  // With a recording, logins are those of the sandbox, not of the service that was recorded.
  const { login, ...ofRecording } = options?.contract ?? {};
  const contract = recording === undefined ? options?.contract : ofRecording;
  // On a busy machine tests lag by seconds: that is no load to shed.
  const timers = { ...clock.timers, maxLagMs: Number.POSITIVE_INFINITY };
  const gateway = use(
    createGatewayWith(timers, {
      introspection: true,
      explain: true,
      loginRateLimit: 0,
      ...options,
      contract,
      now: clock.now,
      upstream: { ...upstream, timeoutMs: upstream?.timeoutMs ?? 2000, url: sandbox.url },
    }),
  );
  const { url } = use(await listenOnLoopback(gateway, options?.corsOrigins ?? []));
  // The contract may map scripted logins, not the sandbox's.
  await using loginGateway =
    recording !== undefined || login === undefined
      ? null
      : createGatewayWith(timers, { loginRateLimit: 0, upstream: { url: sandbox.url } });
  const client = await logIn(loginGateway ?? gateway, sandbox);
  requests.length = 0;
  if (events !== undefined) {
    sandbox.clearEvents(); // the testbed's own login
    sandbox.addEvents(events);
  }

  const closing = new AbortController();
  use({ [Symbol.asyncDispose]: async () => closing.abort() });
  const token = async () => client.accessToken;
  const follow = createFollow({ fetch: gateway.fetch, token });

  return {
    url: `${url}${options?.path ?? GRAPHQL_PATH}`,
    gateway,
    sandbox,
    ...client,
    request: async (document, variables, options = {}) => {
      rejectUnknownNames(options, REQUEST_OPTIONS, 'an option of a request');
      const { token = client.accessToken, explain } = options;
      const { fetch } = gateway;
      return request(document, variables, { fetch, token: token ?? undefined, explain });
    },
    follow: (variables = {}, options = {}) => {
      rejectUnknownNames(options, FOLLOW_OPTIONS, 'an option of follow');
      const { after, signal } = options;
      return follow(AuditEventsDocument, variables, {
        after,
        signal: AbortSignal.any([closing.signal, ...(signal ? [signal] : [])]),
      });
    },
    addEvents: sandbox.addEvents,
    respondNext: script.add,
    assertDone: script.assertDone,
    clearResponses: script.clear,
    requests: withClear(requests),
    advance: clock.advance,
  };
}

/** Adds `clear` so that a comparison with a plain array does not see it. */
function withClear<Item>(items: Item[]): Item[] & { clear(): void } {
  const clear = () => {
    items.length = 0;
  };
  return Object.defineProperty(Object.assign(items, { clear }), 'clear', { enumerable: false });
}

async function logIn({ fetch }: Gateway, { clients: [first] }: Sandbox) {
  if (first === undefined) throw new TypeError('A testbed needs a client, to log it in.');
  const variables = { clientId: first.clientId, credential: { clientSecret: first.secret } };
  const { data, errors = [] } = await request(LoginDocument, variables, { fetch });
  const { accessToken, refreshToken } = data?.login ?? {};
  if (accessToken === undefined || refreshToken == null) {
    throw new Error(`The testbed's client could not log in: ${errors[0]?.message}`);
  }
  return { clientId: first.clientId, accessToken, refreshToken };
}

/** Milliseconds between two polls of a subscription, so that a test need not wait for seconds. */
const POLL_MS = 20;

/** Creates a clock that runs as `now`, and is moved by `advance`, and by each wait before a retry. */
function createClock(now: () => Date) {
  let offsetMs = 0;
  const clock = () => now().getTime() + offsetMs;
  const advance = (ms: number) => {
    if (!(ms >= 0 && Number.isFinite(ms)))
      throw new RangeError('Advance the clock by a number of milliseconds, 0 or more.');
    offsetMs += ms;
  };
  const timers: Required<CallTimers> = {
    clock,
    wait: async (ms) => advance(ms),
    pause: (_, signal) => sleep(POLL_MS, undefined, { signal }),
  };
  return { now: () => new Date(clock()), timers, advance };
}
