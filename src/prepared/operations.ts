// Exists because to parse, validate and plan a document takes longer than to carry it out: what was once valid is kept, ready.

import {
  type DocumentNode,
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
} from 'graphql';
import { LRUCache } from 'lru-cache';

/** By what a request is known again, letter for letter. */
export type Question = {
  readonly query: string;
  readonly operationName: string | null;
  /** The header, which decides the type of the answer. */
  readonly accept: string;
};

/** What the long way found out about a question. */
export type Learned = {
  /** Parsed, within the limits, and valid. */
  readonly document: DocumentNode;
  /** Of the answer. */
  readonly contentType: string;
  /** For the log: query or mutation, and the names of its root fields. */
  readonly operation: string;
  readonly fields: string;
};

/** An operation that only has to be carried out. */
export type PreparedOperation = Omit<Learned, 'document'> & {
  /** Whether its variables can have these values. */
  takes(variables: Variables): boolean;
  execute(context: unknown, variables: Variables): Promise<ExecutionResult>;
};

type Variables = Readonly<Record<string, unknown>>;

/** The operations that were asked before. They hold documents only: nothing of a caller but the literals in them, no token and no answer. */
export type PreparedOperations = {
  /** Keeps what a question came to. */
  learn(question: Question, learned: Learned): void;
  /** Undefined for what was not asked before, and while it is being planned. */
  find(question: Question): PreparedOperation | undefined;
};

type Entry = { readonly learned: Learned; prepared: PreparedOperation | 'begun' | undefined };

/** Characters of documents: parsed and planned, one takes up to 500 bytes for each. */
const MAX_CHARACTERS = 65_536;

/** Begins empty. An operation is planned when it is asked for the second time, as many never are. */
export function createPreparedOperations(schema: GraphQLSchema): PreparedOperations {
  const entries = new LRUCache<string, Entry>({
    maxSize: MAX_CHARACTERS,
    sizeCalculation: (_, key) => key.length,
  });
  return {
    learn: (question, learned) => {
      const key = keyOf(question);
      if (!entries.has(key)) entries.set(key, { learned, prepared: undefined });
    },
    find: (question) => {
      const entry = entries.get(keyOf(question));
      if (entry === undefined || entry.prepared === 'begun') return undefined;
      if (entry.prepared !== undefined) return entry.prepared;
      entry.prepared = 'begun';
      void prepare(schema, entry.learned, question.operationName).then((prepared) => {
        if (prepared !== null) entry.prepared = prepared; // else it goes the long way for ever
      });
      return undefined;
    },
  };
}

function keyOf({ query, operationName, accept }: Question): string {
  return [accept, operationName === null ? '' : `=${operationName}`, query].join('\n');
}

/** graphql-jit is imported when it is needed: serving begins without it. Null for what it cannot plan. */
async function prepare(
  schema: GraphQLSchema,
  { document, ...facts }: Learned,
  operationName: string | null,
): Promise<PreparedOperation | null> {
  const { compileQuery } = await import('graphql-jit');
  const compiled = compileQuery(schema, document, operationName ?? undefined, {
    disablingCapturingStackErrors: true,
    useExperimentalPathBasedSkipInclude: true,
  });
  const definitions = getOperationAST(document, operationName)?.variableDefinitions ?? [];
  if (!('query' in compiled)) return null;
  return {
    ...facts,
    // graphql-jit looks at them too, but does not know of `@oneOf`.
    takes: (variables) => getVariableValues(schema, definitions, variables).errors === undefined,
    execute: async (context, variables) => {
      const { errors, ...rest } = await compiled.query(undefined, context, variables);
      if (errors === undefined) return rest;
      return { errors: errors.map((error) => toGraphQLError(error, document)), ...rest };
    },
  };
}

/** graphql-jit's errors look like those of graphql-js, and are none. */
function toGraphQLError(
  { message, path, locations = [], originalError }: GraphQLError,
  { loc }: DocumentNode,
): GraphQLError {
  const breaks = [...(loc?.source.body ?? '').matchAll(/\r\n|[\n\r]/g)];
  const starts = [0, ...breaks.map((match) => match.index + match[0].length)];
  const positions = locations.map(({ line, column }) => (starts[line - 1] ?? 0) + column - 1);
  return new GraphQLError(message, { path, originalError, source: loc?.source, positions });
}
