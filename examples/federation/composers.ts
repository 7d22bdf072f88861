import { composeServices as composeWithApollo } from '@apollo/composition';
import { composeServices as composeWithGuild } from '@theguild/federation-composition';
import { federateSubgraphs } from '@wundergraph/composition';
import { type GraphQLError, parse, print, printSchema } from 'graphql';

/** A subgraph, as every composer wants it. */
export type Subgraph = {
  readonly name: string;
  /** Where a router finds it. */
  readonly url: string;
  /** What its `_service { sdl }` says. */
  readonly sdl: string;
};

/** What a composer makes of subgraphs. */
export type Supergraph = {
  /** The SDL that routers are given. */
  readonly sdl: string;
  /** The schema that their clients see. */
  readonly api: string;
};

/**
 * Composes subgraphs.
 * @throws AggregateError of every reason why they do not fit together.
 */
export type Composer = (subgraphs: readonly Subgraph[]) => Supergraph;

/** The composers known to take Keytrail's schema, by whose routers they are made for. */
export const COMPOSERS = {
  /** Apollo Router and Gateway. */
  apollo: (subgraphs) => {
    const { errors, supergraphSdl, schema } = composeWithApollo(toServices(subgraphs));
    if (errors) throw refusal(errors);
    return { sdl: supergraphSdl, api: printSchema(schema.toAPISchema().toGraphQLJSSchema()) };
  },
  /** Hive Router and Gateway. */
  hive: (subgraphs) => {
    const { errors, supergraphSdl, publicSdl } = composeWithGuild(toServices(subgraphs));
    if (errors) throw refusal(errors);
    return { sdl: supergraphSdl, api: publicSdl };
  },
  /** WunderGraph's Cosmo Router, which is given a configuration made of this schema. */
  cosmo: (subgraphs) => {
    const result = federateSubgraphs({
      subgraphs: subgraphs.map(({ name, url, sdl }) => ({ name, url, definitions: parse(sdl) })),
    });
    if (!result.success) throw refusal(result.errors);
    return {
      sdl: print(result.federatedGraphAST),
      api: printSchema(result.federatedGraphClientSchema),
    };
  },
} as const satisfies Readonly<Record<string, Composer>>;

function toServices(subgraphs: readonly Subgraph[]) {
  return subgraphs.map(({ name, url, sdl }) => ({ name, url, typeDefs: parse(sdl) }));
}

function refusal(errors: readonly (GraphQLError | Error)[]): AggregateError {
  const reasons = errors.map(({ message }) => message).join('\n');
  return new AggregateError(errors, `The subgraphs do not compose:\n${reasons}`);
}
