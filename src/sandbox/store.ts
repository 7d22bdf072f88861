import { createHash } from 'node:crypto';
import type { SQLInputValue } from 'node:sqlite';
import { type CompleteEvent, completeEvent, type SandboxEvent } from './event.ts';
import { DEMO_CLIENTS, type SandboxClient, seedTrail } from './seed.ts';

/** What a store needs. */
export type StoreOptions = {
  /** Path of a SQLite file. Default: a database in memory. */
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
export type Tokens = {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresInSeconds: number;
};

/** The clients, their tokens and the audit trail. A change and its audit event are stored in one transaction. */
export type Store = Disposable & {
  /** Null if the credential is wrong, or with `strictLogin` used up. */
  login(clientId: string, credential: Credential, client: ClientInfo): Tokens | null;
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

const TABLES = `
  PRAGMA foreign_keys = ON;
  CREATE TABLE IF NOT EXISTS client (
    client_id TEXT PRIMARY KEY,
    secret_hash TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS refresh_token (
    hash TEXT PRIMARY KEY,
    client_id TEXT NOT NULL REFERENCES client ON DELETE CASCADE
  ) STRICT;
  CREATE TABLE IF NOT EXISTS access_token (
    hash TEXT PRIMARY KEY,
    client_id TEXT NOT NULL REFERENCES client ON DELETE CASCADE,
    expires_at TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS event (
    number INTEGER PRIMARY KEY,
    time TEXT NOT NULL,
    action TEXT NOT NULL,
    actor TEXT,
    target TEXT,
    outcome TEXT NOT NULL,
    ip TEXT,
    user_agent TEXT
  ) STRICT;
  CREATE INDEX IF NOT EXISTS event_time ON event (time);
`;

/**
 * Opens a store.
 * @throws TypeError for clients or events that are not valid.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { file = ':memory:', now, createToken, strictLogin = false } = options;
  const { clients = DEMO_CLIENTS, events } = options;
  checkClients(clients);
  const trail = events?.map((event) => completeEvent(event, now())) ?? seedTrail(now());
  const { run, select, transaction, close } = await openDatabase(file);
  const matches = (sql: string, ...values: SQLInputValue[]) => select(sql, ...values).length > 0;

  const accepts = (clientId: string, credential: Credential): boolean => {
    const hasRefreshToken = 'SELECT 1 FROM refresh_token WHERE client_id = ?';
    if ('refreshToken' in credential)
      return matches(`${hasRefreshToken} AND hash = ?`, clientId, hash(credential.refreshToken));
    if (strictLogin && matches(hasRefreshToken, clientId)) return false;
    const hasSecret = 'SELECT 1 FROM client WHERE client_id = ? AND secret_hash = ?';
    return matches(hasSecret, clientId, hash(credential.secret));
  };

  const addEvent = (event: CompleteEvent) => {
    const { occurredAt, action, actor, target, outcome, ipAddress, userAgent } = event;
    const values = [occurredAt.toISOString(), action, actor, target, outcome, ipAddress, userAgent];
    run(
      'INSERT INTO event (time, action, actor, target, outcome, ip, user_agent) VALUES (?, ?, ?, ?, ?, ?, ?)',
      ...values,
    );
  };

  transaction(() => {
    if (matches('SELECT 1 FROM event UNION SELECT 1 FROM client LIMIT 1')) return;
    for (const { clientId, secret } of clients) {
      run('INSERT INTO client (client_id, secret_hash) VALUES (?, ?)', clientId, hash(secret));
    }
    trail.forEach(addEvent);
  });

  return {
    login: (clientId, credential, client) =>
      transaction(() => {
        const time = now();
        const isAccepted = accepts(clientId, credential);
        const outcome = isAccepted ? 'SUCCESS' : 'FAILURE';
        const parties = { actor: clientId, target: clientId };
        addEvent({ occurredAt: time, action: 'client.login', ...parties, outcome, ...client });
        if (!isAccepted) return null;
        if (strictLogin) run('DELETE FROM refresh_token WHERE client_id = ?', clientId);
        const refreshToken = createToken();
        run('INSERT INTO refresh_token VALUES (?, ?)', hash(refreshToken), clientId);
        const accessToken = createToken();
        const expiresAt = new Date(time.getTime() + ACCESS_TOKEN_SECONDS * 1000).toISOString();
        run('DELETE FROM access_token WHERE expires_at <= ?', time.toISOString());
        run('INSERT INTO access_token VALUES (?, ?, ?)', hash(accessToken), clientId, expiresAt);
        return { accessToken, refreshToken, expiresInSeconds: ACCESS_TOKEN_SECONDS };
      }),

    authenticate: (accessToken) => {
      const [row] = select(
        'SELECT client_id FROM access_token WHERE hash = ? AND expires_at > ?',
        hash(accessToken),
        now().toISOString(),
      );
      return row === undefined ? null : String(row['client_id']);
    },

    deleteKey: (clientId, actor, client) =>
      transaction(() => {
        const { changes } = run('DELETE FROM client WHERE client_id = ?', clientId);
        const outcome = changes === 1 ? 'SUCCESS' : 'FAILURE';
        const parties = { actor, target: clientId };
        addEvent({ occurredAt: now(), action: 'key.delete', ...parties, outcome, ...client });
        return outcome === 'SUCCESS';
      }),

    listEvents: (actions) =>
      select('SELECT * FROM event ORDER BY time DESC, number DESC')
        .filter(({ action }) => actions.length === 0 || actions.includes(String(action)))
        .map(toRecord),

    addEvents: (added) => {
      const complete = added.map((event) => completeEvent(event, now()));
      transaction(() => complete.forEach(addEvent));
    },
    clearEvents: () => run('DELETE FROM event'),

    [Symbol.dispose]: close,
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

type Row = Readonly<Record<string, unknown>>;

/** An event of the audit trail, as the REST interface returns it. */
function toRecord(row: Row) {
  const text = (column: string) => (row[column] === null ? null : String(row[column]));
  return {
    id: `evt_${String(row['number']).padStart(6, '0')}`,
    occurred_at: String(row['time']),
    action: String(row['action']),
    actor: { id: text('actor'), type: 'client' },
    target: { id: text('target'), type: 'api_key' },
    outcome: String(row['outcome']).toLowerCase(),
    ip_address: text('ip'),
    user_agent: text('user_agent'),
  };
}

async function openDatabase(file: string) {
  const { DatabaseSync } = await import('node:sqlite'); // Node 20 does not have it, and can import everything else
  const database = new DatabaseSync(file);
  database.exec(TABLES);
  return {
    run: (sql: string, ...values: SQLInputValue[]) => database.prepare(sql).run(...values),
    select: (sql: string, ...values: SQLInputValue[]): readonly Row[] =>
      database.prepare(sql).all(...values),
    /** Commits if `work` returns, rolls back if it throws. */
    transaction: <T>(work: () => T): T => {
      database.exec('BEGIN IMMEDIATE');
      try {
        const result = work();
        database.exec('COMMIT');
        return result;
      } catch (error) {
        database.exec('ROLLBACK');
        throw error;
      }
    },
    close: () => database.close(),
  };
}
