import { gatewayOver, onPort } from '../helpers/gateway.ts';
import { type Handler, startService } from '../helpers/service.ts';

const ann = { id: 7, type: 'user', name: 'Ann' };
const ben = { id: 8, type: 'user', name: 'Ben' };
const key = (id: number, name: string) => ({ id, type: 'api_key', name });

/** A trail in which a user and a key have the same identifier, two events have no ID, and two share one. */
const RECORDS = [
  { id: 'e5', action: 'key.delete', actor: ann, target: key(7, 'ci-key') },
  { id: null, action: 'client.login', actor: ben, target: ben },
  { id: null, action: 'key.create', actor: ann, target: key(9, 'web-key') },
  { id: 'e3', action: 'key.rotate', actor: ann, target: key(9, 'web-key') },
  { id: 'e3', action: 'key.create', actor: ben, target: key(5, 'old-key') },
].map((record, index) => ({ ...record, occurred_at: `2026-11-21T09:30:0${5 - index}Z` }));

/** The events of this trail as `action: actor > target`. */
export const EVENTS = [
  'key.delete: 7 Ann > 7 ci-key',
  'client.login: 8 Ben > 8 Ben',
  'key.create: 7 Ann > 9 web-key',
  'key.rotate: 7 Ann > 9 web-key',
  'key.create: 8 Ben > 5 old-key',
];

/** Pages of one record. Of these 25 records, only the last is of `key.delete`. */
export const SPARSE: Handler = ({ url }) => {
  const page = Number(/at=(\d+)/.exec(url)?.[1] ?? 1);
  const isLast = page === 25;
  return {
    headers: isLast ? {} : { link: `</api/v1/audit?at=${page + 1}>; rel="next"` },
    body: { events: [{ ...RECORDS[isLast ? 0 : 1], id: `s${page}` }] },
  };
};

type Party = {
  readonly identifier?: unknown;
  readonly name?: unknown;
  readonly apiKey?: { readonly clientId: string } | null | undefined;
};

/** What an event of any client has. */
type Event = {
  readonly action?: unknown;
  readonly actor?: Party | null | undefined;
  readonly target?: Party | null | undefined;
};

/** An event as one line. */
export const line = ({ action, actor, target }: Event) =>
  `${action}: ${actor?.identifier} ${actor?.name} > ${target?.identifier} ${target?.name}`;

/** The API keys of these events, of the actor and of the target. */
export const KEYS = [
  [null, '7'],
  [null, null],
  [null, '9'],
  [null, '9'],
  [null, '5'],
];

/** The API keys of an event. */
export const keysOf = ({ actor, target }: Event) =>
  [actor, target].map((party) => party?.apiKey?.clientId ?? null);

/** Starts a service, and a gateway for it on a port. */
export async function startTrail({
  read = () => ({ body: { events: RECORDS } }),
  remove = () => ({ status: 204 }),
  login = () => ({ body: { access_token: 'tok3n' } }),
}: {
  readonly read?: Handler;
  readonly remove?: Handler;
  readonly login?: Handler;
} = {}) {
  const stack = new AsyncDisposableStack();
  const service = stack.use(
    await startService((...call) => {
      const [{ method }] = call;
      const handler = method === 'POST' ? login : method === 'DELETE' ? remove : read;
      return handler(...call);
    }),
  );
  const { url } = stack.use(await onPort(stack.use(gatewayOver(service.url))));
  return {
    url: `${url}/graphql`,
    /** The methods of the requests that the service received since the last call. */
    sent: () => {
      const methods = service.seen.map(({ method }) => method);
      service.forget();
      return methods;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Loses the response of the service: its outcome is unknown. */
export const lose: Handler = (_seen, _response, request) => {
  request.socket.destroy();
  return undefined;
};
