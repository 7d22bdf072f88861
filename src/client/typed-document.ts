/**
 * Carries the types of an operation's data and variables. The same as the type of this name in
 * `@graphql-typed-document-node/core`, which GraphQL clients accept. That package needs `graphql`; this one does not.
 */
export type DocumentTypeDecoration<Data, Variables> = {
  /** Never set. */
  __apiType?: (variables: Variables) => Data;
};
