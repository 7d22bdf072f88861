import { composeServices as composeWithApollo } from '@apollo/composition';
import { composeServices as composeWithGuild } from '@theguild/federation-composition';
import { federateSubgraphs } from '@wundergraph/composition';
import { type GraphQLError, parse, print, printSchema } from 'graphql';

/** A subgraph to compose. */
export type Subgraph = {
  readonly name: string;
  /** Its GraphQL URL, for routers. */
  readonly url: string;
  /** Its schema, from `_service { sdl }`. */
  readonly sdl: string;
};

/** The result of a composition. */
export type Supergraph = {
  /** The supergraph SDL, for routers. */
  readonly sdl: string;
  /** The API schema, for clients. */
  readonly api: string;
};

/**
 * Composes subgraphs.
 * @throws AggregateError with every composition error.
 */
export type Composer = (subgraphs: readonly Subgraph[]) => Supergraph;

/** The composers that accept Keytrail's schema, by the vendor of their routers. */
export const COMPOSERS = {
  /** Apollo Router and Gateway. */
  apollo: (subgraphs) => {
    const { errors, supergraphSdl, schema } = composeWithApollo(toServices(subgraphs));
    if (errors) throw compositionError(errors);
    return { sdl: supergraphSdl, api: printSchema(schema.toAPISchema().toGraphQLJSSchema()) };
  },
  /** Hive Router and Gateway. */
  hive: (subgraphs) => {
    const { errors, supergraphSdl, publicSdl } = composeWithGuild(toServices(subgraphs));
    if (errors) throw compositionError(errors);
    return { sdl: supergraphSdl, api: publicSdl };
  },
  /** WunderGraph's Cosmo Router, which reads a configuration generated from this schema. */
  cosmo: (subgraphs) => {
    const result = federateSubgraphs({
      subgraphs: subgraphs.map(({ name, url, sdl }) => ({ name, url, definitions: parse(sdl) })),
    });
    if (!result.success) throw compositionError(result.errors);
    return {
      sdl: print(result.federatedGraphAST),
      api: printSchema(result.federatedGraphClientSchema),
    };
  },
} as const satisfies Readonly<Record<string, Composer>>;

function toServices(subgraphs: readonly Subgraph[]) {
  return subgraphs.map(({ name, url, sdl }) => ({ name, url, typeDefs: parse(sdl) }));
}

function compositionError(errors: readonly (GraphQLError | Error)[]): AggregateError {
  const reasons = errors.map(({ message }) => message).join('\n');
  return new AggregateError(errors, `The subgraphs do not compose:\n${reasons}`);
}
