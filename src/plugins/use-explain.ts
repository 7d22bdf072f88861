import type { ExecutionResult } from 'graphql';
import { isAsyncIterable, type Plugin } from 'graphql-yoga';
import type { Context } from '../schema/context.ts';

/** A request with this header, and the value 1, is explained. */
export const EXPLAIN_HEADER = 'x-keytrail-explain';

type ExplainContext = { recorder?: Context['recorder'] };

/** Adds `extensions.explain` to the result of a request that asks for it; of a subscription, to the first payload. */
export function useExplain(): Plugin<ExplainContext, ExplainContext> {
  return {
    onSubscribe: ({ args: { contextValue } }) => ({
      onSubscribeResult: () => ({
        onNext: ({ result, setResult }) => {
          if (contextValue.recorder) setResult(explainResult(result, contextValue.recorder));
          contextValue.recorder = undefined;
        },
      }),
    }),
    onResultProcess({ request, result, setResult, serverContext: { recorder } }) {
      if (isAsyncIterable(result) || Array.isArray(result)) return;
      if (request.headers.get(EXPLAIN_HEADER) === '1') setResult(explainResult(result, recorder));
    },
  };
}

/** Without a recorder nothing was executed, so nothing was called. */
function explainResult(result: ExecutionResult, recorder: Context['recorder']): ExecutionResult {
  const explain = recorder?.explain(result.errors) ?? { calls: [] };
  return { ...result, extensions: { ...result.extensions, explain } };
}
