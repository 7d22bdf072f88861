import {
  type DocumentNode,
  GraphQLError,
  Kind,
  Lexer,
  OperationTypeNode,
  Source,
  TokenKind,
  visit,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { GatewayError } from '../errors.ts';
import { fragmentsOf, MAX_FIELDS, measureSelections } from '../schema/selection.ts';

/** Limits for one document. The introspection queries of GraphiQL and of federation composers stay well below. */
const LIMITS = {
  tokens: 2000,
  /** Nested brackets: the parser and the validation rules recurse at each. */
  nesting: 40,
  /** Nested fields, fragments expanded. */
  depth: 20,
  /** Fragments expanded at every spread. A list multiplies the values by up to 1,000. */
  fields: MAX_FIELDS,
  aliases: 50,
  directives: 50,
  rootFields: 10,
  /** Many logins or deletions under aliases would bypass every limit per request. */
  mutationFields: 1,
  /** Fields that return events, nested. Each event would select those of its key: 238 MB for 1,000 events. */
  trails: 1,
} as const;

const NESTED_TRAILS = 'one `audit` or `auditEvents` on a path';

/**
 * Rejects documents that exceed a limit with OPERATION_TOO_COMPLEX, before they are validated. Counts fields regardless
 * of `@include` and `@skip`.
 */
export function useLimits(): Plugin {
  return {
    onParse({ parseFn, setParseFn }) {
      setParseFn((text: string, options?: object) => {
        throwIfExceeded(exceededByTokens(text));
        const document: DocumentNode = parseFn(text, options);
        throwIfExceeded(exceededByDocument(document));
        return document;
      });
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
