// Exists because to parse, validate and plan a document takes longer than to carry it out.
import {
  type DocumentNode,
  type ExecutionResult,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { createPlan, makeRepeatable, type Plan } from './plan.ts';

/** By what a request is known again, letter for letter; `accept` is the header, which decides the type of the answer. */
export type Question = Readonly<{ query: string; operationName: string | null; accept: string }>;

type Values = Readonly<Record<string, unknown>>;

/** What the long way found out about a question: a valid document, and for the answer and the log what is always the same. */
export type Learned = Readonly<{
  document: DocumentNode;
  operation: OperationDefinitionNode;
  /** Names of the root fields, by comma. */
  fields: string;
  contentType: string;
}>;

/** What only has to be carried out. */
export type PreparedOperation = Pick<Learned, 'operation' | 'fields' | 'contentType'> & {
  /** Carries it out with these values of its variables; null when they do not fit, or it cannot be planned. */
  ready(variables: Values): ((context: unknown) => Promise<ExecutionResult>) | null;
};

/** The operations that were asked before, of whomever: documents, with nothing of a caller but the literals in them. */
export type PreparedOperations = {
  learn(question: Question, learned: Learned): void;
  find(question: Question): PreparedOperation | undefined;
};

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
    learn: (question, learned) => {
      const key = keyOf(question);
      if (!operations.has(key)) operations.set(key, prepare(schema, learned));
    },
    find: (question) => operations.get(keyOf(question)),
  };
}

function keyOf({ query, operationName, accept }: Question): string {
  return `${accept}\n${operationName === null ? '' : `=${operationName}`}\n${query}`;
}

function prepare(schema: GraphQLSchema, { document, ...facts }: Learned): PreparedOperation {
  const { operation } = facts;
  const fragments = Object.fromEntries(
    document.definitions.filter(isFragment).map((fragment) => [fragment.name.value, fragment]),
  );
  const valid = { schema, document, operation, fragments };
  const plans = new Map<string, Plan | null>();
  return {
    ...facts,
    ready: (given) => {
      const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], given);
      if (coerced === undefined) return null;
      const flags = Object.entries(coerced).filter(([, value]) => typeof value === 'boolean');
      const choice = flags.join(); // conditions are flags, and nothing else is one
      if (!plans.has(choice) && plans.size < MAX_PLANS)
        plans.set(choice, createPlan(valid, coerced));
      const plan = plans.get(choice);
      return plan ? (context) => plan(context, { given, coerced }) : null;
    },
  };
}

function isFragment(node: { readonly kind: string }): node is FragmentDefinitionNode {
  return node.kind === Kind.FRAGMENT_DEFINITION;
}
