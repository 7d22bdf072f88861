import { addAbortListener } from 'node:events';
import { type ExecutionResult, GraphQLError, getOperationAST } from 'graphql';
import {
  type GraphQLParams,
  getSSEProcessor,
  isAsyncIterable,
  type Plugin,
  processRegularResult,
} from 'graphql-yoga';
import { GatewayError } from '../../errors.ts';
import type { Turns } from '../../util/event-loop.ts';
import type { Caller } from '../../util/fair-share.ts';
import { EVENT_STREAM, isUtf8, preferMediaType, RESPONSE_TYPES } from '../http/request-head.ts';
import { isLarge, serializeInPieces } from './serialize-result.ts';
import { toErrorResponse } from './use-error-codes.ts';
import type { RequestLogContext } from './use-request-report.ts';

/** What the plugin puts on the server context. */
type EventsContext = RequestLogContext & { readonly caller: Caller; isSentAsEvents?: true };

/**
 * Accepts GET, and POST of JSON, from clients that accept JSON or server-sent events. A client that accepts only events
 * gets every GraphQL result as one, with status 200, as the GraphQL over SSE protocol requires; but no mutation, since
 * its client repeats an operation whose connection was lost. Rejects forms and plain text, which browsers send to other
 * origins without a preflight. Any failure to read a request is BAD_REQUEST, and its message quotes no input. `shutdown`
 * ends the pings of streams.
 */
export function useJsonRequests(
  shutdown: AbortSignal,
  turns: Turns,
): Plugin<EventsContext, EventsContext> {
  const sendEvents = createEventSender(shutdown);
  return {
    onRequestParse(hook) {
      const { request, requestParser, setRequestParser } = hook;
      // Before execution: Yoga checks it afterwards, when the tokens of a login would be lost.
      if (preferredType(request) === undefined && !acceptsEvents(request)) {
        const error = new GatewayError('BAD_REQUEST', { message: NOT_ACCEPTABLE });
        return hook.endResponse(toErrorResponse(error, { status: 406 }, hook));
      }
      if (request.method === 'POST')
        setRequestParser(async (post) => parseBody(post.headers, await post.arrayBuffer()));
      else if (requestParser !== undefined)
        setRequestParser(async (get) => {
          try {
            return toParams(await requestParser(get));
          } catch (error) {
            throw toBadRequest(error);
          }
        });
    },
    onParams({ params: { query, extensions } }) {
      if (query == null && Object(extensions).persistedQuery != null) throw notPersisted();
    },
    onExecute({ args: { contextValue, document, operationName }, setResultAndStopExecution }) {
      const operation = getOperationAST(document, operationName)?.operation;
      if (operation === 'mutation' && acceptsEventsOnly(contextValue.request))
        setResultAndStopExecution({ errors: [badRequest(NO_MUTATION)] });
    },
    onSubscribe({ args: { contextValue }, setResultAndStopExecution }) {
      if (acceptsEvents(contextValue.request)) contextValue.isSentAsEvents = true;
      else setResultAndStopExecution({ errors: [badRequest(EVENTS_ONLY, 406)] });
    },
    onResultProcess({ request, result, serverContext, setResultProcessor }) {
      // Yoga's choice ignores quality values. A subscription that was rejected is sent as an event, too: its client reads events.
      const isSentAsEvents = serverContext.isSentAsEvents || acceptsEventsOnly(request);
      if (isAsyncIterable(result) || isSentAsEvents) {
        setResultProcessor(sendEvents, EVENT_STREAM);
      } else
        setResultProcessor(
          createJsonSender(turns, serverContext.caller),
          preferredType(request) ?? RESPONSE_TYPES[0],
        );
    },
  };
}

/**
 * Replaces Yoga's sender. Its streams read ahead by 64 KiB. A pending read delays their cancellation until the next ping.
 * Pings of a stream that nobody reads would keep the process running after the gateway was disposed.
 */
function createEventSender(shutdown: AbortSignal): ReturnType<typeof getSSEProcessor> {
  const toEvents = getSSEProcessor();
  return (result, fetchAPI, mediaType) => {
    const results = isAsyncIterable(result)
      ? result[Symbol.asyncIterator]()
      : [result].flat().values();
    let endPings = () => {};
    const next = async () => {
      const item = await results.next();
      if (item.done) endPings();
      return item.done ? item : { ...item, value: { ...item.value, stringify: toAscii } };
    };
    class EventStream extends ReadableStream<Uint8Array> {
      constructor({ cancel: stopPings, ...source }: UnderlyingDefaultSource<Uint8Array>) {
        const cancel = async () => {
          endPings();
          await results.return?.();
        };
        super({ ...source, cancel });
        const listener = addAbortListener(shutdown, () => endPings());
        endPings = () => {
          endPings = () => {};
          listener[Symbol.dispose]();
          void stopPings?.();
        };
      }
    }
    const streams = { Response, ReadableStream: EventStream as typeof ReadableStream }; // no byte stream is created
    const iterable = { [Symbol.asyncIterator]: () => ({ next }) };
    return toEvents(iterable, { ...fetchAPI, ...streams }, mediaType);
  };
}

/** Sends a result as Yoga does. A large one is serialized in pieces. */
function createJsonSender(turns: Turns, caller: Caller): ReturnType<typeof getSSEProcessor> {
  return (result, fetchAPI, mediaType) => {
    if (isAsyncIterable(result) || Array.isArray(result) || !isLarge(result.data))
      return processRegularResult(result, fetchAPI, mediaType);
    return turns(caller, async () => {
      const stringify = ({ errors, extensions }: ExecutionResult) =>
        JSON.stringify({ errors, extensions });
      const rest = { ...result, data: {}, stringify };
      const response = processRegularResult(rest, fetchAPI, mediaType);
      const members = (await response.text()).slice(1);
      const body = Buffer.concat([
        Buffer.from('{"data":'),
        ...(await serializeInPieces(result.data)),
        Buffer.from(members === '}' ? members : `,${members}`),
      ]);
      // Yoga's `Headers` of other headers lose those that are not set again.
      const headers = {
        ...Object.fromEntries(response.headers),
        'content-length': String(body.length),
      };
      return new fetchAPI.Response(body, { status: response.status, headers });
    });
  };
}

/**
 * Serializes a value as JSON of ASCII characters only; Yoga calls it instead of JSON.stringify. Hive Gateway decodes each
 * chunk of a stream on its own (`@graphql-tools/executor-http` 3.4.1): it would replace a character that is split between two.
 */
function toAscii(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

const NOT_ACCEPTABLE =
  'Send `accept: application/json`, or `accept: text/event-stream` for events.';

const NO_MUTATION =
  'A mutation is not sent as server-sent events: clients of events repeat an operation whose connection was lost. Send it with `accept: application/json`.';

const EVENTS_ONLY =
  'A subscription is sent as server-sent events: send `accept: text/event-stream`.';

function acceptsEvents({ headers }: Pick<Request, 'headers'>): boolean {
  return preferMediaType(headers.get('accept'), [EVENT_STREAM]) !== undefined;
}

function acceptsEventsOnly(request: Pick<Request, 'headers'>): boolean {
  return preferredType(request) === undefined && acceptsEvents(request);
}

function preferredType({ headers }: Pick<Request, 'headers'>) {
  return preferMediaType(headers.get('accept'), RESPONSE_TYPES);
}

/**
 * Reads a POST, on the fast path and for Yoga, whose parser only knows lower-case content types, and alters invalid UTF-8
 * and long integers: a deletion could then hit another key than the one that was meant.
 * @throws GraphQLError BAD_REQUEST
 */
export function parseBody(headers: Pick<Headers, 'get'>, body: Uint8Array | ArrayBuffer) {
  checkContentType(headers);
  try {
    const text = UTF_8.decode(body);
    const params = toParams(JSON.parse(text));
    if (MAY_LOSE_DIGITS.test(text)) JSON.stringify(params, rejectUnsafeInteger);
    return params;
  } catch (error) {
    throw toBadRequest(error);
  }
}

function checkContentType(headers: Pick<Headers, 'get'>): void {
  if (!/^(?:identity)?$/i.test(headers.get('content-encoding') ?? ''))
    throw badRequest('Send the body uncompressed, without `content-encoding`.', 415);
  const contentType = headers.get('content-type');
  if (contentType === null || !REQUEST_TYPE.test(contentType)) {
    const status = contentType === null ? 400 : 415;
    throw badRequest('POST a JSON body with `content-type: application/json`.', status);
  }
  if (!isUtf8(contentType))
    throw badRequest('Send the body in UTF-8, and no other `charset` in `content-type`.', 415);
}

const REQUEST_TYPE = /^application\/(?:graphql\+)?json\s*(?:;|$)/i;

/** Throws if a body is not UTF-8. */
const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/** An integer beyond 2^53, which `JSON.parse` rounds, has 16 digits or an exponent. */
const MAY_LOSE_DIGITS = /\d{16}|\d[eE]/;

function rejectUnsafeInteger(_name: string, value: unknown): unknown {
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return value;
  throw badRequest('An integer is too large to be exact in JSON: send it as a string.');
}

/** Ignores unknown members, as the GraphQL-over-HTTP specification requires. Empty texts are none: clients send them. */
function toParams(given: unknown): GraphQLParams {
  if (typeof given !== 'object' || given === null)
    throw badRequest('The body must be a JSON object.');
  if (Array.isArray(given)) return given as GraphQLParams; // Yoga rejects batches
  const { query, variables, operationName, extensions } = Object(given);
  return {
    query,
    variables: orNone(variables),
    operationName: orNone(operationName),
    extensions: orNone(extensions),
  };
}

const orNone = <Value>(value: Value) => (value === '' ? undefined : value);

function toBadRequest(error: unknown): GraphQLError {
  return error instanceof GraphQLError ? error : badRequest('The request contains invalid JSON.');
}

/** Status 200, as in Apollo Server. */
function notPersisted(): GraphQLError {
  const { message, extensions } = new GatewayError('PERSISTED_QUERY_NOT_SUPPORTED');
  return new GraphQLError(message, { extensions: { ...extensions, http: { status: 200 } } });
}

function badRequest(message: string, status = 400): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'BAD_REQUEST', http: { status } } });
}
