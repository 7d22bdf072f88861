import { createHash } from 'node:crypto';
import { type CompleteEvent, completeEvent, type SandboxEvent } from './event.ts';
import { DEMO_CLIENTS, type SandboxClient, seedTrail } from './seed.ts';
import { createTables, type Tables } from './tables.ts';

/** What a store needs. */
export type StoreOptions = {
  /** Path of a SQLite file. Default: in memory. */
  readonly file?: string | undefined;
  /** The current time. */
  readonly now: () => Date;
  /** Creates an unguessable token. */
  readonly createToken: () => string;
  /**
   * Whether credentials are used up, as the service's are: a client's secret works once, and from then on only its
   * latest refresh token. Otherwise its secret and all its refresh tokens stay valid.
   * @default false
   */
  readonly strictLogin?: boolean | undefined;
  /** The clients of a new store. @default three demo clients */
  readonly clients?: readonly SandboxClient[] | undefined;
  /** The events of a new store. @default 360 events of the last ninety days */
  readonly events?: readonly SandboxEvent[] | undefined;
};

/** The client of a request, for the audit trail. */
export type ClientInfo = Pick<CompleteEvent, 'ipAddress' | 'userAgent'>;

/** What a client logs in with. */
export type Credential = { readonly secret: string } | { readonly refreshToken: string };

/** The result of a successful login. */
export type IssuedTokens = {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresInSeconds: number;
};

/** The clients, their tokens and the audit trail. A change and its audit event are stored in one transaction. */
export type Store = Disposable & {
  /** Null if the credential is wrong, or with `strictLogin` used up. */
  login(clientId: string, credential: Credential, client: ClientInfo): IssuedTokens | null;
  /** The ID of the client to which an access token was issued; null if the token is unknown or expired. */
  authenticate(accessToken: string): string | null;
  /** Deletes a client's key and its tokens. False if there is no such key. */
  deleteKey(clientId: string, actor: string, client: ClientInfo): boolean;
  /** The records of the events with one of these actions, newest first. An empty list selects all. */
  listEvents(actions: readonly string[]): readonly object[];
  /**
   * Adds events to the trail, all or none.
   * @throws TypeError for an event that is not valid.
   */
  addEvents(events: readonly SandboxEvent[]): void;
  /** Removes all events from the trail. */
  clearEvents(): void;
};

const ACCESS_TOKEN_SECONDS = 900;

/**
 * Opens a store.
 * @throws TypeError for clients or events that are not valid.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { file, now, createToken, strictLogin = false } = options;
  const { clients = DEMO_CLIENTS, events } = options;
  checkClients(clients);
  const trail = events?.map((event) => completeEvent(event, now())) ?? seedTrail(now());
  // Only for a file: importing SQLite prints a warning on Node 22, and fails on Node 20.
  const tables =
    file === undefined ? createTables() : (await import('./sqlite-tables.ts')).openTables(file);

  const accepts = (clientId: string, credential: Credential): boolean => {
    const refreshTokens = tables.listRefreshTokens(clientId);
    if ('refreshToken' in credential) return refreshTokens.includes(hash(credential.refreshToken));
    if (strictLogin && refreshTokens.length > 0) return false;
    return tables.hasClient(clientId, hash(credential.secret));
  };

  const addEvent = ({ occurredAt, ipAddress, ...event }: CompleteEvent) =>
    tables.addEvent({ ...event, time: occurredAt.toISOString(), ip: ipAddress });

  tables.transaction(() => {
    if (!tables.isEmpty()) return;
    for (const { clientId, secret } of clients) tables.addClient(clientId, hash(secret));
    trail.forEach(addEvent);
  });

  return {
    login: (clientId, credential, client) =>
      tables.transaction(() => {
        const time = now();
        const isAccepted = accepts(clientId, credential);
        const tokens = isAccepted ? [createToken(), createToken()] : []; // first: a program's may throw
        const outcome = isAccepted ? 'SUCCESS' : 'FAILURE';
        const parties = { actor: clientId, target: clientId };
        addEvent({ occurredAt: time, action: 'client.login', ...parties, outcome, ...client });
        const [refreshToken, accessToken] = tokens;
        if (refreshToken === undefined || accessToken === undefined) return null;
        if (strictLogin) tables.deleteRefreshTokens(clientId);
        tables.addRefreshToken(hash(refreshToken), clientId);
        tables.deleteExpired(time.toISOString());
        const expiresAt = new Date(time.getTime() + ACCESS_TOKEN_SECONDS * 1000).toISOString();
        tables.addAccessToken(hash(accessToken), { clientId, expiresAt });
        return { accessToken, refreshToken, expiresInSeconds: ACCESS_TOKEN_SECONDS };
      }),

    authenticate: (accessToken) => {
      const access = tables.findAccess(hash(accessToken));
      return access && access.expiresAt > now().toISOString() ? access.clientId : null;
    },

    deleteKey: (clientId, actor, client) =>
      tables.transaction(() => {
        const isDeleted = tables.deleteClient(clientId);
        const outcome = isDeleted ? 'SUCCESS' : 'FAILURE';
        const parties = { actor, target: clientId };
        addEvent({ occurredAt: now(), action: 'key.delete', ...parties, outcome, ...client });
        return isDeleted;
      }),

    listEvents: (actions) =>
      tables
        .listEvents()
        .filter(({ action }) => actions.length === 0 || actions.includes(action))
        .map(toRecord),

    addEvents: (added) => {
      const complete = added.map((event) => completeEvent(event, now()));
      tables.transaction(() => complete.forEach(addEvent));
    },
    clearEvents: tables.clearEvents,

    [Symbol.dispose]: tables[Symbol.dispose],
  };
}

/** @throws TypeError that says what is wrong with them. */
function checkClients(clients: readonly SandboxClient[]): void {
  const ids = clients.map(({ clientId }) => clientId);
  for (const { clientId, secret } of clients) {
    if ([clientId, secret].some((text) => typeof text !== 'string' || text === ''))
      throw new TypeError('A client needs a clientId and a secret, strings that are not empty.');
  }
  if (new Set(ids).size < ids.length) throw new TypeError('Two clients have the same clientId.');
}

/** A fast hash is enough: secrets and tokens are long and random, so they cannot be guessed from a dictionary. */
function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** An event of the audit trail, as the REST interface returns it. */
function toRecord({ number, ...event }: ReturnType<Tables['listEvents']>[number]) {
  return {
    id: `evt_${String(number).padStart(6, '0')}`,
    occurred_at: event.time,
    action: event.action,
    actor: { id: event.actor, type: 'client' },
    target: { id: event.target, type: 'api_key' },
    outcome: event.outcome.toLowerCase(),
    ip_address: event.ip,
    user_agent: event.userAgent,
  };
}
