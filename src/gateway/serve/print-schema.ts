import { createSchema } from '../create-schema.ts';
import { printClientSchema, printSubgraph } from '../schema/federation.ts';

/** Prints the GraphQL schema: for clients, or as a federation subgraph. */
export function printSchema({ client }: { readonly client: boolean }): string {
  const print = client ? printClientSchema : printSubgraph;
  return print(createSchema());
}
