import {
  type DocumentNode,
  type ExecutionResult,
  GraphQLError,
  Kind,
  Lexer,
  OperationTypeNode,
  Source,
  TokenKind,
  visit,
} from 'graphql';
import { isAsyncIterable, type Plugin } from 'graphql-yoga';
import { type ErrorCode, GatewayError } from '../../errors.ts';
import { fragmentsOf, MAX_DOCUMENT_FIELDS, measureSelections } from '../schema/selection.ts';
import type { RequestLogContext } from './use-request-report.ts';

/** Limits of {@link limitResult}. */
export type ResultLimits = {
  /** Largest result, in characters of JSON without escapes: about its bytes. */
  readonly graphqlMaxBytes: number;
};

/** Default of {@link ResultLimits.graphqlMaxBytes}. */
export const MAX_RESULT_BYTES = 2 ** 25;

/** Limits for one document. The introspection queries of GraphiQL and of federation composers stay well below. */
const LIMITS = {
  tokens: 2000,
  /** Nested brackets: the parser and the validation rules recurse at each. */
  nesting: 40,
  /** Nested fields, fragments expanded. */
  depth: 20,
  /** Fragments expanded at every spread. A list multiplies the values by up to 1,000. */
  fields: MAX_DOCUMENT_FIELDS,
  aliases: 50,
  directives: 50,
  rootFields: 10,
  /** Many logins or deletions under aliases would bypass every limit per request. */
  mutationFields: 1,
  /** Nested fields that return events. `audit` within the events of `audit` multiplies: 1,000 events gave 238 MB. */
  trails: 1,
} as const;

const NESTED_TRAILS = 'one `audit` or `auditEvents` on a path';

/**
 * Rejects documents that exceed a limit with OPERATION_TOO_COMPLEX, before they are validated. Counts fields regardless
 * of `@include` and `@skip`. Replaces results that are too large, see {@link limitResult} and {@link limitPayload}.
 */
export function useLimits(limits: ResultLimits): Plugin<RequestLogContext, RequestLogContext> {
  return {
    onParse({ parseFn, setParseFn }) {
      setParseFn((text: string, options?: object) => {
        throwIfExceeded(exceededByTokens(text));
        const document: DocumentNode = parseFn(text, options);
        throwIfExceeded(exceededByDocument(document));
        return document;
      });
    },
    onSubscribe: () => ({
      onSubscribeResult: () => ({
        onNext: ({ result, setResult }) => setResult(limitPayload(result, limits)),
      }),
    }),
    onResultProcess({ result, setResult, serverContext: { executed } }) {
      if (isAsyncIterable(result) || Array.isArray(result)) return;
      setResult(limitResult(result, limits, executed?.operation));
    },
  };
}

function throwIfExceeded(limit: string | undefined): void {
  if (limit === undefined) return;
  const how =
    limit === NESTED_TRAILS
      ? ': select `apiKey { clientId }` there, and request the events of a key with `audit(filter: …)`'
      : '';
  const message = `The document exceeds a limit: it has more than ${limit}. Split it${how}.`;
  throw new GraphQLError(message, {
    originalError: new GatewayError('OPERATION_TOO_COMPLEX', { message }),
  });
}

/** Counts tokens before parsing: the parser would overflow the stack. */
function exceededByTokens(text: string): string | undefined {
  const lexer = new Lexer(new Source(text));
  let nesting = 0;
  try {
    for (let tokens = 0; tokens <= LIMITS.tokens; tokens += 1) {
      const { kind } = lexer.advance();
      if (kind === TokenKind.EOF) return undefined;
      if ('([{'.includes(kind)) nesting += 1;
      if (')]}'.includes(kind)) nesting -= 1;
      if (nesting > LIMITS.nesting) return `${LIMITS.nesting} nested brackets`;
    }
    return `${LIMITS.tokens} tokens`;
  } catch {
    return undefined; // a syntax error, which the parser reports
  }
}

function exceededByDocument(document: DocumentNode): string | undefined {
  let aliases = 0;
  let directives = 0;
  visit(document, {
    Field: ({ alias }) => {
      if (alias !== undefined) aliases += 1;
    },
    Directive: () => {
      directives += 1;
    },
  });
  if (aliases > LIMITS.aliases) return `${LIMITS.aliases} aliases`;
  if (directives > LIMITS.directives) return `${LIMITS.directives} directives`;
  const measure = measureSelections(fragmentsOf(document));
  const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
  for (const { operation, selectionSet } of operations) {
    const { depth, fields, rootFields, rootFieldsButTypename, trails } = measure(selectionSet);
    if (trails > LIMITS.trails) return NESTED_TRAILS;
    if (depth > LIMITS.depth) return `${LIMITS.depth} levels`;
    if (rootFields > LIMITS.rootFields) return `${LIMITS.rootFields} root fields`;
    if (fields > LIMITS.fields) return `${LIMITS.fields} fields`;
    const isMutation = operation === OperationTypeNode.MUTATION;
    if (isMutation && rootFieldsButTypename > LIMITS.mutationFields)
      return 'one field in a mutation';
  }
  return undefined;
}

/**
 * Returns the result, or OPERATION_TOO_COMPLEX instead of all of it if it is too large; of a mutation OUTCOME_UNKNOWN, as
 * it was carried out or refused by then. Nothing of a result that is too large is serialized: aliases can repeat a
 * response of the service so often that its JSON would not fit in memory.
 */
export function limitResult(
  result: ExecutionResult,
  { graphqlMaxBytes }: ResultLimits,
  operation?: string | undefined,
): ExecutionResult {
  if (sizeUpTo(graphqlMaxBytes, result.data) <= graphqlMaxBytes) return result;
  const isMutation = operation === 'mutation';
  const error = isMutation
    ? toError('OUTCOME_UNKNOWN', MUTATION_TOO_LARGE)
    : toError('OPERATION_TOO_COMPLEX', RESULT_TOO_LARGE);
  return { data: null, errors: [error] };
}

const LIMIT = `${MAX_RESULT_BYTES / 2 ** 20} MiB`;

const RESULT_TOO_LARGE = `The response would be larger than ${LIMIT}: select less, or request smaller pages.`;

const MUTATION_TOO_LARGE = `The request was sent, but the response would be larger than ${LIMIT}: check whether it has taken effect before you repeat it, and select less.`;

/**
 * The same for a payload of a subscription, but only fields of its items are left out, the largest first: each is null and has an
 * error. The rest is sent, and so are the checkpoints: without them the client would meet the payload again for ever.
 */
export function limitPayload(result: ExecutionResult, limits: ResultLimits): ExecutionResult {
  const { graphqlMaxBytes } = limits;
  if (sizeUpTo(graphqlMaxBytes, result.data) <= graphqlMaxBytes) return result;
  const { fields, total } = measureFields(result.data);
  const errors = [...(result.errors ?? [])];
  let excess = total - graphqlMaxBytes;
  for (const { item, path, size } of fields.toSorted((one, other) => other.size - one.size)) {
    if (excess <= 0) break;
    item[String(path.at(-1))] = null;
    excess -= size - NULL_SIZE;
    errors.push(toError('OPERATION_TOO_COMPLEX', FIELD_TOO_LARGE, path));
  }
  return limitResult({ ...result, errors }, limits);
}

const FIELD_TOO_LARGE = `With this field the payload would be larger than ${LIMIT}: select it once, or a part of it with \`raw(pointer: …)\`.`;

function toError(code: ErrorCode, message: string, path?: ItemField['path']): GraphQLError {
  const originalError = new GatewayError(code, { message });
  return new GraphQLError(message, { originalError, path: path ?? null, extensions: { http: {} } });
}

/** A field of an item: a member of an object in a list of the payload. All of them are nullable. */
type ItemField = {
  readonly item: Record<string, unknown>;
  readonly path: readonly (string | number)[];
  readonly size: number;
};

/** Lists the large fields of all items. Aliases share their values: each is measured once. */
function measureFields(data: ExecutionResult['data']) {
  const sizes = new Map<unknown, number>();
  const sizeOf = (value: unknown) => {
    const size = sizes.get(value) ?? sizeUpTo(Number.POSITIVE_INFINITY, value);
    sizes.set(value, size);
    return size;
  };
  const fields: ItemField[] = [];
  let total = 2;
  for (const [root, payload] of Object.entries(data ?? {})) {
    total += root.length + 6;
    for (const [key, member] of Object.entries<unknown>(Object(payload))) {
      const items = Array.isArray(member) ? member : [];
      total += key.length + 4 + (Array.isArray(member) ? 2 : sizeOf(member));
      for (const [index, item] of items.entries()) {
        total += 3;
        for (const [name, value] of Object.entries<unknown>(item)) {
          const size = sizeOf(value);
          total += name.length + 4 + size;
          if (size > MIN_SIZE) fields.push({ item, path: [root, key, index, name], size });
        }
      }
    }
  }
  return { fields, total };
}

/** Fields up to this size identify an item, and are never left out. */
const MIN_SIZE = 64;

/** Of `null` in {@link sizeUpTo}. */
const NULL_SIZE = 4;

/** The length of a value as JSON, without escapes. Stops above `limit`. */
export function sizeUpTo(limit: number, value: unknown): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return NULL_SIZE;
  let size = 2;
  if (Array.isArray(value)) {
    for (const item of value) {
      size += 1 + sizeUpTo(limit - size, item);
      if (size > limit) break;
    }
    return size;
  }
  for (const key in value) {
    size += key.length + 4 + sizeUpTo(limit - size, (value as Record<string, unknown>)[key]);
    if (size > limit) break;
  }
  return size;
}
