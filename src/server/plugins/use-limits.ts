import {
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  Lexer,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionNode,
  type SelectionSetNode,
  Source,
  TokenKind,
  visit,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { GatewayError } from '../../errors.ts';

/** What one document may ask for. GraphiQL's and the composers' own questions stay well below. */
const LIMITS = {
  tokens: 2000,
  /** Of brackets inside of one another: the parser and the rules of validation call themselves for each. */
  nesting: 40,
  /** Of fields inside of one another, through fragments. */
  depth: 20,
  /** Through fragments, each as often as it is asked for. A list multiplies them by a thousand. */
  fields: 500,
  aliases: 50,
  directives: 50,
  rootFields: 10,
  /** Logins or deletions under many names in one request would pass every limit on requests. */
  mutationFields: 1,
} as const;

/**
 * Refuses documents that ask for too much before they are validated, with OPERATION_TOO_COMPLEX. All is counted as it
 * stands there, through fragments, whatever `@include` and `@skip` would leave of it.
 */
export function useLimits(): Plugin {
  return {
    onParse({ parseFn, setParseFn }) {
      setParseFn((text: string, options?: object) => {
        refuse(excessOfText(text));
        const document: DocumentNode = parseFn(text, options);
        refuse(excessOf(document));
        return document;
      });
    },
  };
}

function refuse(what: string | undefined): void {
  if (what === undefined) return;
  const message = `The document asks for too much: it has more than ${what}. Split it.`;
  throw new GraphQLError(message, {
    originalError: new GatewayError('OPERATION_TOO_COMPLEX', { message }),
  });
}

const OPENING: ReadonlySet<TokenKind> = new Set([
  TokenKind.BRACE_L,
  TokenKind.BRACKET_L,
  TokenKind.PAREN_L,
]);
const CLOSING: ReadonlySet<TokenKind> = new Set([
  TokenKind.BRACE_R,
  TokenKind.BRACKET_R,
  TokenKind.PAREN_R,
]);

/** Looks at the words alone: the parser itself would run out of stack. */
function excessOfText(text: string): string | undefined {
  const lexer = new Lexer(new Source(text));
  let nesting = 0;
  try {
    for (let tokens = 0; tokens <= LIMITS.tokens; tokens += 1) {
      const { kind } = lexer.advance();
      if (kind === TokenKind.EOF) return undefined;
      if (OPENING.has(kind)) nesting += 1;
      if (CLOSING.has(kind)) nesting -= 1;
      if (nesting > LIMITS.nesting) return `${LIMITS.nesting} brackets inside of one another`;
    }
    return `${LIMITS.tokens} tokens`;
  } catch {
    return undefined; // the parser says better what is wrong
  }
}

function excessOf(document: DocumentNode): string | undefined {
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
  const measure = measureSelections(document.definitions.filter(isFragment));
  for (const { operation, selectionSet } of document.definitions.filter(isOperation)) {
    const { depth, all, fields, others } = measure(selectionSet);
    if (depth > LIMITS.depth) return `${LIMITS.depth} levels`;
    if (fields > LIMITS.rootFields) return `${LIMITS.rootFields} fields at its root`;
    if (all > LIMITS.fields) return `${LIMITS.fields} fields`;
    const isMutation = operation === OperationTypeNode.MUTATION;
    if (isMutation && others > LIMITS.mutationFields) return 'one field in a mutation';
  }
  return undefined;
}

/** What a selection asks for. */
type Measure = {
  /** How deep it goes. */
  readonly depth: number;
  /** How many fields stand in it, at any depth; `raw`, which is a whole record or answer, as ten. */
  readonly all: number;
  /** How many stand at its top. */
  readonly fields: number;
  /** How many of those are not `__typename`. */
  readonly others: number;
};

const NOTHING: Measure = { depth: 0, all: 0, fields: 0, others: 0 };

/** Each fragment is measured once, however often it is spread; one inside of itself counts as nothing, and is invalid. */
function measureSelections(
  fragments: readonly FragmentDefinitionNode[],
): (set: SelectionSetNode | undefined) => Measure {
  const measured = new Map<string, Measure>();
  const ofFragment = (name: string): Measure => {
    const known = measured.get(name);
    if (known !== undefined) return known;
    measured.set(name, NOTHING);
    const measure = ofSet(fragments.find((fragment) => fragment.name.value === name)?.selectionSet);
    measured.set(name, measure);
    return measure;
  };
  const ofSelection = (selection: SelectionNode): Measure => {
    if (selection.kind === Kind.INLINE_FRAGMENT) return ofSet(selection.selectionSet);
    if (selection.kind === Kind.FRAGMENT_SPREAD) return ofFragment(selection.name.value);
    const { depth, all } = ofSet(selection.selectionSet);
    const { value: name } = selection.name;
    const own = name === 'raw' ? 10 : 1;
    return { depth: depth + 1, all: all + own, fields: 1, others: name === '__typename' ? 0 : 1 };
  };
  const ofSet = (set: SelectionSetNode | undefined): Measure =>
    (set?.selections ?? []).map(ofSelection).reduce(
      (sum, { depth, all, fields, others }) => ({
        depth: Math.max(sum.depth, depth),
        all: sum.all + all,
        fields: sum.fields + fields,
        others: sum.others + others,
      }),
      NOTHING,
    );
  return ofSet;
}

function isFragment(node: { readonly kind: string }): node is FragmentDefinitionNode {
  return node.kind === Kind.FRAGMENT_DEFINITION;
}

function isOperation(node: { readonly kind: string }): node is OperationDefinitionNode {
  return node.kind === Kind.OPERATION_DEFINITION;
}
