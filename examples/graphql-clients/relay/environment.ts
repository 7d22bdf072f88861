import { request } from 'keytrail-client';
import {
  Environment,
  type GraphQLResponse,
  Network,
  Observable,
  type PayloadData,
  RecordSource,
  Store,
} from 'relay-runtime';
import { createEventClient, type EventClient, toSink } from '../events.ts';
import { dataOf } from '../keytrail-error.ts';

/** Subscribes by server-sent events. */
export const createSubscribe =
  (events: EventClient) =>
  ({ text }: { readonly text: string | null }, variables: Record<string, unknown>) =>
    Observable.create<GraphQLResponse>((observer) =>
      events.subscribe({ query: text ?? '', variables }, toSink(observer)),
    );

/** Creates an environment that keeps events apart, and throws the error of a failed field. */
export const createEnvironment = (url: string, token: string) =>
  new Environment({
    network: Network.create(
      async ({ text }, variables) => {
        const result = await request<PayloadData, object>(text ?? '', variables, { url, token });
        return { data: dataOf(result) };
      },
      createSubscribe(createEventClient(url, token)),
    ),
    store: new Store(new RecordSource()),
    getDataID: (record, type) => {
      if (type === 'AuditEvent') return undefined; // its ID may be null, or that of another event
      if (type === 'ApiKey') return record['clientId'] && `ApiKey:${record['clientId']}`;
      return record['id'];
    },
  });
