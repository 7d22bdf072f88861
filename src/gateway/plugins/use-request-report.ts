import { type ExecutionArgs, getOperationAST, Kind } from 'graphql';
import { isAsyncIterable, type Plugin } from 'graphql-yoga';
import type { Routes } from '../http/request-head.ts';
import type { RequestOutcome } from '../observability/observer.ts';
import type { OngoingRequest, ReportedError } from '../observability/reporter.ts';
import { foldSelections, fragmentsOf } from '../schema/selection.ts';
import type { RequestIdContext } from './use-response-headers.ts';

/** What useRequestReport collects on the server context until the response. */
export type RequestLogContext = RequestIdContext & {
  /** Set by onRequest. */
  report?: OngoingRequest;
  /** Undefined if no operation was executed. */
  executed?: Omit<RequestOutcome, 'status'> | undefined;
  /** Errors of the response. */
  errors?: readonly ReportedError[] | undefined;
  /** Set while a subscription is sent. */
  subscription?: { payloads: number };
  /** Why the gateway itself has ended a subscription. */
  readonly ended?: 'evicted' | 'expired';
};

/**
 * Reports each request: calls `begin` when it arrives, and `end` of what `begin` returned with its response; of a
 * subscription `start` with its response, and `end` with the end of the stream.
 */
export function useRequestReport(
  { toEndpoint }: Pick<Routes, 'toEndpoint'>,
  begin: (requestId: string, request: Request, url: URL) => OngoingRequest,
  isShutDown: () => boolean,
): Plugin<RequestLogContext, RequestLogContext> {
  return {
    onRequest({ request, url, serverContext }) {
      serverContext.report = begin(serverContext.requestId, request, url);
    },
    // Yoga's contextValue is serverContext.
    onExecute: ({ args }) => {
      args.contextValue.executed = describeOperation(args);
    },
    onSubscribe: ({ args }) => {
      const { contextValue } = args;
      const executed = describeOperation(args);
      contextValue.executed = executed;
      return {
        onSubscribeResult: ({ result }) => {
          if (!isAsyncIterable(result)) return undefined;
          const subscription = { payloads: 0 };
          contextValue.subscription = subscription;
          return {
            onNext: ({ result: { errors } }) => {
              subscription.payloads += 1;
              contextValue.errors = errors;
              contextValue.report?.payload();
            },
            onEnd: () => {
              const { report, errors } = contextValue;
              const ended = describeEnd(contextValue, isShutDown());
              report?.end({ ...executed, status: 200, ...subscription, ended }, errors);
            },
          };
        },
      };
    },
    onResultProcess({ result, serverContext }) {
      if (isAsyncIterable(result) || Array.isArray(result)) return;
      serverContext.errors = result.errors;
    },
    onResponse({ request, response, serverContext }) {
      const { report, executed, errors, subscription } = serverContext;
      if (subscription !== undefined && executed !== undefined) return report?.start(executed);
      const subject = executed ?? toEndpoint(request.method, new URL(request.url).pathname);
      const aborted = request.signal.aborted && ({ aborted: true } as const);
      report?.end({ ...subject, status: response.status, ...aborted }, errors);
    },
  };
}

function describeEnd({ errors, ended }: RequestLogContext, isShutDown: boolean) {
  if (errors) return 'error';
  return ended ?? (isShutDown ? 'shutdown' : 'client');
}

/** Only valid documents are executed, so these names are names of the schema. */
function describeOperation({ document, operationName }: ExecutionArgs) {
  const operation = getOperationAST(document, operationName);
  if (!operation) return undefined;
  const namesIn = foldSelections<ReadonlySet<string>>(
    fragmentsOf(document),
    new Set(),
    (names, one, inner) =>
      new Set([...names, ...(one.kind === Kind.FIELD ? [one.name.value] : inner)]),
  );
  const fields = [...namesIn(operation.selectionSet)].join(',');
  return { operation: operation.operation, fields };
}
