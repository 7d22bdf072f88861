import { createClient, type ExecutionResult, type Sink } from 'graphql-sse';

/** Creates a client of server-sent events. It repeats nothing: continue with your last checkpoint instead. */
export const createEventClient = (url: string, token: string) =>
  createClient({ url, headers: { authorization: `Bearer ${token}` }, retryAttempts: 0 });

export type EventClient = ReturnType<typeof createEventClient>;

/** Errors arrive as JSON. The types of graphql-sse say that they are instances of GraphQLError. */
export const toSink = (
  observer: Pick<Sink, 'error' | 'complete'> & { next(result: never): void },
) => observer as Sink<ExecutionResult>;
