// Kept for speed: x3.9 with 10 records and x4.7 for deletions (npm run bench -- --load small,delete).
import {
  type DocumentNode,
  type ExecutionResult,
  type GraphQLSchema,
  getOperationAST,
} from 'graphql';
import type { GraphQLParams, Plugin } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import type { Turns } from '../../util/event-loop.ts';
import { lazy } from '../../util/memoize.ts';
import type { RequestClient } from '../../util/request-client.ts';
import { EVENT_STREAM } from '../http/request-head.ts';
import type { Recipient, Send } from '../http/send-response.ts';
import type { RequestOutcome } from '../observability/observer.ts';
import type { OngoingRequest } from '../observability/reporter.ts';
import type { Context } from '../schema/context.ts';
import { type CompiledOperation, compileOperation } from './compile-operation.ts';
import { isLarge, serializeInPieces } from './serialize-result.ts';
import { parseBody } from './use-json-requests.ts';
import { limitResult, type ResultLimits } from './use-limits.ts';

/** What the fast path does in the same way as Yoga's plugins. */
export type FastPathOptions = ResultLimits & {
  /** A header with which Yoga must respond; null if there is none. */
  readonly ownHeader: string | null;
  readonly begin: (request: RequestHead, recipient: Recipient) => BegunRequest;
  /** Adds codes and the request ID to errors. */
  readonly codeErrors: (result: ExecutionResult, requestId: string) => ExecutionResult;
  /** Headers of every response. */
  readonly headers: Readonly<Record<string, string>>;
  /** For large results. */
  readonly turns: Turns;
  readonly send: Send;
};

/** The headers of a request, and its client. */
export type RequestHead = {
  readonly headers: Pick<Headers, 'get'>;
  readonly client: RequestClient;
};

type BegunRequest = {
  readonly requestId: string;
  readonly context: Pick<Context, 'calls' | 'limits'>;
  readonly report: OngoingRequest;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
};

/** A valid document, and the operations of it that only have to be executed, newest first. */
type CachedDocument = {
  readonly document: DocumentNode;
  readonly operations: readonly PreparedOperation[];
};

/** An operation with the constant parts of its response and its log line. */
type PreparedOperation = {
  readonly operationName: string | null;
  /** The header, which determines the content type of the response. */
  readonly accept: string;
  readonly outcome: RequestOutcome;
  readonly contentType: string;
  /** Length of the longest name in the document. */
  readonly longestKey: number;
  /** Whether the result has values that are in no response of the service: cursors, or the schema for a router. */
  readonly hasOwnValues: boolean;
  /** Compiles the operation at its second request: many are never requested again. */
  readonly compile: () => CompiledOperation;
};

/** What the plugin reads from the server context: `params` of Yoga, `executed` of useRequestReport. */
type ServerContext = {
  params?: GraphQLParams;
  executed?: Omit<RequestOutcome, 'status'> | undefined;
};

/**
 * Characters of all cached documents. A document counts once more for each prepared operation. A character takes about 250
 * bytes parsed, and 250 more compiled.
 */
const MAX_CHARACTERS = 131_072;

/** Results that cannot be longer, in characters, are serialized in one step. Measuring them takes 5 % of the CPU. */
const MAX_UNMEASURED = 2 ** 22;

/** Per document: names of operations times Accept headers. */
const MAX_OPERATIONS = 16;

/**
 * Creates the cache of documents for Yoga, the plugin that fills it, and the fast path that executes what is in it. All
 * clients share the documents. Invalid documents and mutations with literals are not cached: they may contain a secret.
 * Changes the resolvers of the schema, see {@link reuseResolvedRootFields}.
 */
export function createFastPath(schema: GraphQLSchema, options: FastPathOptions) {
  const {
    ownHeader,
    begin,
    graphqlMaxBytes,
    codeErrors,
    headers: ownHeaders,
    turns,
    send,
  } = options;
  reuseResolvedRootFields(schema);
  const cache = new LRUCache<string, CachedDocument>({
    maxSize: MAX_CHARACTERS,
    sizeCalculation: ({ operations }, { length }) =>
      operations.reduce((sum, { accept }) => sum + accept.length + length, length),
  });

  const plugin: Plugin<ServerContext, ServerContext> = {
    onValidate({ params: { documentAST } }) {
      return ({ valid }) => {
        const text = documentAST.loc?.source.body;
        if (valid && text && !cache.has(text) && !mayContainSecret(text))
          cache.set(text, { document: documentAST, operations: [] });
      };
    },
    onResponse({ request: { method, headers }, response, serverContext }) {
      const { params, executed } = serverContext;
      const { query = '', operationName = null } = params ?? {};
      const contentType = response.headers.get('content-type');
      const cached = cache.get(query);
      if (!cached || !contentType || method !== 'POST' || response.status !== 200) return;
      if (!executed || contentType === EVENT_STREAM) return; // a subscription would be executed as a query
      const accept = headers.get('accept') ?? '';
      const operation = getOperationAST(cached.document, operationName);
      if (!operation || findOperation(cached, operationName, accept)) return;
      const { document } = cached;
      const prepared: PreparedOperation = {
        ...{ operationName, accept, contentType },
        outcome: { ...executed, status: 200, prepared: true },
        longestKey: Math.max(...(query.match(/\w+/g) ?? []).map(({ length }) => length)),
        hasOwnValues: /\b(?:cursor|_service)\b/.test(query),
        compile: lazy(() => compileOperation({ schema, document, operation })),
      };
      const operations = [prepared, ...cached.operations].slice(0, MAX_OPERATIONS);
      cache.set(query, { document, operations });
    },
  };

  /** Null if Yoga must respond, also to report what is wrong. */
  const prepare = ({ headers }: RequestHead, body: Buffer) => {
    if (headers.get('origin') !== null) return null; // CORS
    if (ownHeader !== null && headers.get(ownHeader) !== null) return null;
    const params = parseOrNull(headers, body);
    const cached = params && cache.get(params.query ?? '');
    if (!cached || !isObjectOrNone(params?.variables) || !isObjectOrNone(params?.extensions))
      return null;
    const { operationName = null, variables } = params;
    const prepared = findOperation(cached, operationName, headers.get('accept') ?? '');
    const execute = prepared?.compile()(variables ?? {});
    return prepared && execute ? { prepared, execute } : null;
  };

  return {
    plugin,
    /** Of Yoga's `parserAndValidationCache`. Yoga calls `set` before the document is validated: it has no effect. */
    documents: { get: (text: string) => cache.get(text)?.document, set: () => {} },
    /**
     * Responds to a POST. False: Yoga must respond, because it is not for a prepared operation with valid variables. Yoga
     * prepares an operation when it responds to its first request.
     */
    respond: async (request: RequestHead, recipient: Recipient, body: Buffer) => {
      const { prepared, execute } = prepare(request, body) ?? {};
      if (!prepared || !execute) return false;
      const { requestId, context, report, signal } = begin(request, recipient);
      const executed = await execute(context);
      // Measuring the result takes 5 % of the CPU with 1,000 records, so it is left out if it must be small enough.
      const ofPageInfo = MAX_CURSORS * body.length;
      const maxLength = prepared.hasOwnValues
        ? Number.POSITIVE_INFINITY
        : context.limits.maxResultLength(prepared.longestKey) + ofPageInfo;
      const { outcome } = prepared;
      const limited =
        maxLength <= graphqlMaxBytes
          ? executed
          : limitResult(executed, { graphqlMaxBytes }, outcome.operation);
      const result = codeErrors(limited, requestId);
      const json =
        maxLength > MAX_UNMEASURED && isLarge(result.data)
          ? await turns(recipient.caller, () => serializeInPieces(result))
          : JSON.stringify(result);
      result.data = null; // settled promises would retain it, see `PageLoader.release`
      context.calls.release();
      // Outside of V8's heap, so that no GC has to copy a large response while the client downloads it.
      const payload =
        typeof json === 'string' && json.length > 2 ** 16 ? [Buffer.from(json)] : json;
      const length =
        typeof payload === 'string'
          ? Buffer.byteLength(payload)
          : payload.reduce((sum, piece) => sum + piece.length, 0);
      const own = { 'content-type': prepared.contentType, 'content-length': length };
      const head = { status: 200, headers: { ...ownHeaders, ...own, 'x-request-id': requestId } };
      // If each character is one byte, latin1 gives the same bytes as UTF-8 and is faster to write.
      send(recipient, head, payload, length === json.length ? 'latin1' : 'utf8');
      report.end(signal.aborted ? { ...outcome, aborted: true } : outcome, result.errors);
      return true;
    },
  };
}

/**
 * Replaces the resolvers of the root fields: if the root value is a Map, they return the value that was resolved before.
 * Otherwise graphql-js, which completes what {@link compileOperation} cannot, would send a login or a deletion again.
 */
function reuseResolvedRootFields(schema: GraphQLSchema): void {
  for (const type of [schema.getQueryType(), schema.getMutationType()]) {
    for (const field of Object.values(type?.getFields() ?? {})) {
      const { resolve } = field;
      field.resolve = (source, args, context, info) =>
        source instanceof Map ? source.get(info.path.key) : resolve?.(source, args, context, info);
    }
  }
}

/** A mutation with a string, a number or a comment. With variables, a mutation contains only names. */
function mayContainSecret(text: string): boolean {
  return text.includes('mutation') && /["#]|\b\d/.test(text);
}

function findOperation({ operations }: CachedDocument, name: string | null, accept: string) {
  return operations.find((each) => each.operationName === name && each.accept === accept);
}

function parseOrNull(headers: RequestHead['headers'], body: Buffer): GraphQLParams | null {
  try {
    return parseBody(headers, body);
  } catch {
    return null;
  }
}

/** Of optional members: Yoga rejects requests in which they are anything else. */
function isObjectOrNone(value: unknown = null): boolean {
  return typeof value === 'object' && !Array.isArray(value);
}

/** Cursors of `pageInfo` under 50 aliases, each up to twice as long as `after`. */
const MAX_CURSORS = 200;
