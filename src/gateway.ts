import type { ServerResponse } from 'node:http';
import { createYoga } from 'graphql-yoga';
import { createContext, type Service } from './context.ts';
import { GatewayError, toResult } from './errors.ts';
import type { Gateway, GatewayLog } from './gateway-types.ts';
import { refuseRequest } from './guard.ts';
import { useErrorCodes } from './plugins/use-error-codes.ts';
import { useIntrospection } from './plugins/use-introspection.ts';
import { useJsonRequests } from './plugins/use-json-requests.ts';
import { type PlaygroundOptions, usePlayground } from './plugins/use-playground.ts';
import { useQuietErrors } from './plugins/use-quiet-errors.ts';
import { useRequestId } from './plugins/use-request-id.ts';
import { useRequestLog } from './plugins/use-request-log.ts';
import { RESPONSE_HEADERS, useResponseHeaders } from './plugins/use-response-headers.ts';
import { GRAPHQL_PATH, useRoutes } from './plugins/use-routes.ts';
import { createRestClient, type RestClientOptions } from './rest/client.ts';
import { createSubgraph } from './schema.ts';

/** What a gateway is made of. */
export type GatewayParts = {
  readonly upstream: Omit<RestClientOptions, 'now'>;
  readonly introspection: boolean;
  /** Where the service's answers hold what; gaps are inferred. */
  readonly contract: Service['contract'];
  /** What the playground's tabs hold; null turns it off. */
  readonly playground: PlaygroundOptions | null;
  /** Origins whose pages may read the answers; never with credentials. */
  readonly corsOrigins: readonly string[];
  readonly log: GatewayLog;
  /** The time of day. */
  readonly now: () => Date;
  /** Milliseconds from anywhere, never going back. */
  readonly clock: () => number;
  /** Makes a request id. */
  readonly createId: () => string;
  /** Aborted when the gateway should no longer be sent requests: it is then alive and not ready. */
  readonly draining: AbortSignal;
};

const MAX_BODY_BYTES = 65_536;

/** Builds a gateway. It opens no connection before the first request needs one. */
export function createGateway(options: GatewayParts): Gateway {
  const { contract, playground, corsOrigins, log, now, clock, createId, draining } = options;
  const client = createRestClient({ ...options.upstream, now: () => now().getTime() });
  const reportBug = (bug: unknown, requestId: string) =>
    log.error({ requestId, ...describeBug(bug) }, 'bug');

  const drifted = new Map<string, number>(); // as many as the contract has entries
  const reportDrift = (entries: readonly string[]) => {
    for (const entry of entries) drifted.set(entry, (drifted.get(entry) ?? 0) + 1);
    const answers = Object.fromEntries(entries.map((entry) => [entry, drifted.get(entry)]));
    log.warn({ answers }, 'entries of the contract lead to nothing');
  };

  const yoga = createYoga({
    schema: createSubgraph().schema,
    context: ({ request }) => createContext({ client, contract, reportDrift, now }, request),
    graphqlEndpoint: GRAPHQL_PATH,
    plugins: [
      useRequestId(createId),
      useErrorCodes(reportBug),
      useRequestLog((record) => log.info(record, 'request'), clock),
      useResponseHeaders(),
      playground !== null && usePlayground(GRAPHQL_PATH, playground),
      useRoutes({ draining }),
      useJsonRequests(),
      useIntrospection(options.introspection),
      useQuietErrors({ hideSuggestions: !options.introspection }),
    ],
    cors: corsOrigins.length > 0 && allowOrigins(corsOrigins),
    maxRequestBodySize: MAX_BODY_BYTES,
    maskedErrors: false, // useErrorCodes masks, knowing the table
    logging: false, // useRequestLog logs, knowing what must not be
    graphiql: false,
    landingPage: false,
    multipart: false,
  });

  const underWay = new Set<Promise<Response>>();
  let isClosed = false;

  const refuse = (refusal: GatewayError, status: number): Response => {
    const requestId = createId();
    log.info({ requestId, codes: refusal.extensions.code, status }, 'request');
    return toResponse(refusal, status, requestId);
  };

  const answer = async (work: () => Promise<Response> | Response): Promise<Response> => {
    if (isClosed) return refuse(new GatewayError('OVERLOADED', { message: CLOSED }), 503);
    const answering = orFailure(work);
    underWay.add(answering);
    try {
      return await answering;
    } finally {
      underWay.delete(answering);
    }
  };

  const orFailure = async (work: () => Promise<Response> | Response): Promise<Response> => {
    try {
      return await work();
    } catch (bug) {
      const requestId = createId();
      reportBug(bug, requestId);
      return toResponse(new GatewayError('INTERNAL_SERVER_ERROR'), 500, requestId);
    }
  };

  return {
    fetch: async (input, init) => {
      const request = new Request(input, init);
      return answer(() => yoga.fetch(request));
    },
    handle: async (request, response) => {
      const refusal = refuseRequest(request);
      const answered = await answer(() =>
        refusal === undefined
          ? yoga.handleNodeRequestAndResponse(request, response)
          : refuse(refusal, 400),
      );
      await send(answered, response);
    },
    abort: () => client.abort(),
    [Symbol.asyncDispose]: async () => {
      isClosed = true;
      await Promise.all(underWay);
      await client[Symbol.asyncDispose]();
    },
  };
}

const CLOSED = 'This gateway was closed: send the request to one that runs.';

/** Yoga's own list of origins names one of them to everybody, and the origin `null` to the rest. */
function allowOrigins(origins: readonly string[]) {
  return (request: Request) => {
    const origin = request.headers.get('origin');
    const isAllowed = origin !== null && origins.includes(origin);
    return isAllowed ? { origin: [origin], credentials: false } : false;
  };
}

/** A failure that happened outside Yoga, with the headers that its plugins would have set. */
function toResponse(error: GatewayError, status: number, requestId: string): Response {
  const headers = { ...RESPONSE_HEADERS, 'x-request-id': requestId };
  return Response.json(toResult(error, requestId), { status, headers });
}

/** Yoga's own way of sending answers an error with its stack. */
async function send(answer: Response, response: ServerResponse): Promise<void> {
  const body = await answer.text();
  if (response.destroyed) return;
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(body);
}

/** Where a bug is, without its message: that may quote what was being worked on. */
function describeBug(bug: unknown): { readonly bug: string; readonly at: string } {
  if (!(bug instanceof Error)) return { bug: typeof bug, at: '' };
  const frames = bug.stack?.match(/^ {4}at .*$/gm) ?? [];
  return {
    bug: bug.name,
    at: frames
      .slice(0, 5)
      .map((frame) => frame.trim())
      .join(' < '),
  };
}
