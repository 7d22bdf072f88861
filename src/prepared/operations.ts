// Exists because to parse, validate and plan a document takes longer than to carry it out.
import {
  type DocumentNode,
  type ExecutionResult,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
} from 'graphql';
import type { GraphQLParams, Plugin } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import type { RequestReport } from '../reports.ts';
import { createPlan, makeRepeatable, type Plan, type ValidOperation } from './plan.ts';

/** What is asked for; `accept` is the header, which decides the type of the answer. */
export type Question = {
  readonly query: string;
  readonly operationName: string | null;
  readonly accept: string;
  readonly variables: Readonly<Record<string, unknown>>;
};

/** What only has to be carried out, and what is always the same in its answer and in the log. */
export type PreparedOperation = {
  readonly outcome: Parameters<RequestReport['end']>[0];
  readonly contentType: string;
  /** Carries it out with these values of its variables; null when they do not fit, or it cannot be planned. */
  ready(given: Question['variables']): ((context: unknown) => Promise<ExecutionResult>) | null;
};

/** The operations that were asked before, of whomever: documents, with nothing of a caller but the literals in them. */
export type PreparedOperations = {
  find(question: Omit<Question, 'variables'>): PreparedOperation | undefined;
  /** Learns from Yoga's way what was parsed, allowed and valid, so that it can be asked for without all that. */
  readonly plugin: Plugin<Facts, Facts>;
};

/** What is found on the server context when the answer is there. */
type Facts = { params: GraphQLParams; fields?: string; executed?: DocumentNode };

/** Characters of documents: parsed and planned, one takes up to 500 bytes for each. */
const MAX_CHARACTERS = 65_536;

/** A document with more choices for its `@skip` and `@include` than that goes the long way for the others. */
const MAX_PLANS = 8;

/** Begins empty. An operation is planned when it is asked for the second time: many never are. */
export function createPreparedOperations(schema: GraphQLSchema): PreparedOperations {
  makeRepeatable(schema);
  const operations = new LRUCache<string, PreparedOperation>({
    maxSize: MAX_CHARACTERS,
    sizeCalculation: (_, key) => key.length,
  });
  return {
    find: (question) => operations.get(keyOf(question)),
    plugin: {
      onExecute({ args: { document, contextValue } }) {
        contextValue.executed = document;
      },
      onResponse({ request: { method, headers }, response, serverContext }) {
        const { executed: document, params, fields = '' } = serverContext;
        const contentType = response.headers.get('content-type');
        if (!document || !contentType || method !== 'POST' || response.status !== 200) return;
        const { query = '', operationName = null } = params;
        const asked = getOperationAST(document, operationName);
        const key = keyOf({ query, operationName, accept: headers.get('accept') ?? '' });
        if (!asked || operations.has(key)) return;
        const { operation } = asked;
        const outcome = { operation, fields, status: 200, prepared: true } as const;
        const ready = prepare({ schema, document, operation: asked });
        operations.set(key, { outcome, contentType, ready });
      },
    },
  };
}

/** By what a question is known again, letter for letter. */
function keyOf({ query, operationName, accept }: Omit<Question, 'variables'>): string {
  return `${accept}\n${operationName === null ? '' : `=${operationName}`}\n${query}`;
}

function prepare(valid: ValidOperation): PreparedOperation['ready'] {
  const { schema, operation } = valid;
  const plans = new Map<string, Plan | null>();
  return (given) => {
    const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], given);
    if (coerced === undefined) return null;
    const flags = Object.entries(coerced).filter(([, value]) => typeof value === 'boolean');
    const choice = flags.join(); // conditions are flags, and nothing else is one
    if (!plans.has(choice) && plans.size < MAX_PLANS) plans.set(choice, createPlan(valid, coerced));
    const plan = plans.get(choice);
    return plan ? (context) => plan({ context, given, coerced }) : null;
  };
}
