import { isAsyncIterable, type Plugin } from 'graphql-yoga';
import type { ExplanationCollector } from '../schema/explain.ts';

/** A request with this header, and the value 1, is explained. */
export const EXPLAIN_HEADER = 'x-keytrail-explain';

type ExplainContext = { explanation?: ExplanationCollector | undefined };

/** Adds `extensions.explain` to the result of a request that asks for it; of a subscription, to the first payload. */
export function useExplain(): Plugin<ExplainContext, ExplainContext> {
  return {
    onSubscribe: ({ args: { contextValue } }) => ({
      onSubscribeResult: () => ({
        onNext: ({ result, setResult }) => {
          const explain = contextValue.explanation?.explain('auditEvents', result.errors);
          if (explain) setResult({ ...result, extensions: { ...result.extensions, explain } });
          contextValue.explanation = undefined;
        },
      }),
    }),
    onResultProcess({ request, result, setResult, serverContext: { explanation } }) {
      if (isAsyncIterable(result) || Array.isArray(result)) return;
      if (request.headers.get(EXPLAIN_HEADER) !== '1') return;
      // Without an explanation nothing was executed, so nothing was called.
      const explain = explanation?.explain('audit', result.errors) ?? { calls: [] };
      setResult({ ...result, extensions: { ...result.extensions, explain } });
    },
  };
}
