import { createHash } from 'node:crypto';
import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from 'node:sqlite';
import { DEMO_CLIENTS, type SeedEvent, seedTrail } from './seed.ts';

/** What the store needs of the world. */
export type StoreOptions = {
  /** A path, or `:memory:`. */
  readonly file: string;
  readonly now: () => Date;
  /** Makes a token that nobody can guess. */
  readonly createToken: () => string;
};

/** Where a request came from, for its record. */
export type Origin = { readonly ip: string | null; readonly userAgent: string | null };

/** Exactly what a login shows. */
export type Proof = { readonly secret: string } | { readonly refreshToken: string };

/** What a successful login hands out. */
export type Tokens = {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresInSeconds: number;
};

/** One record of the trail, as the REST interface gives it. */
export type TrailRecord = {
  readonly id: string;
  readonly occurred_at: string;
  readonly action: string;
  readonly actor: { readonly id: string | null; readonly type: string };
  readonly target: { readonly id: string | null; readonly type: string };
  readonly outcome: 'success' | 'failure';
  readonly ip_address: string | null;
  readonly user_agent: string | null;
};

/** The clients, their tokens and the trail. Every change and its record are written together or not at all. */
export type Store = Disposable & {
  /** Null when it is refused. The secret is good for a client's first login, then only its latest refresh token. */
  login(clientId: string, proof: Proof, origin: Origin): Tokens | null;
  /** The client that an access token belongs to; null when it is unknown or has ended. */
  clientOf(accessToken: string): string | null;
  /** False when there is no such key. Its tokens go with it. */
  deleteKey(clientId: string, by: string, origin: Origin): boolean;
  /** Newest first; of some actions only, unless the list is empty. */
  trail(actions: readonly string[]): readonly TrailRecord[];
};

const ACCESS_TOKEN_SECONDS = 900;

const TABLES = `
  PRAGMA foreign_keys = ON;
  CREATE TABLE IF NOT EXISTS client (
    client_id TEXT PRIMARY KEY,
    secret_hash TEXT,                 -- NULL once it was used
    refresh_hash TEXT                 -- NULL until then
  ) STRICT;
  CREATE TABLE IF NOT EXISTS token (
    hash TEXT PRIMARY KEY,
    client_id TEXT NOT NULL REFERENCES client ON DELETE CASCADE,
    ends_at TEXT NOT NULL
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

/** Opens the store; an empty one gets the demo clients and a trail. */
export function openStore({ file, now, createToken }: StoreOptions): Store {
  const { run, read, atomically, close } = openDatabase(file, TABLES);

  const record = ({ time, action, actor, target, outcome, ip, userAgent }: SeedEvent) =>
    run(
      'INSERT INTO event (time, action, actor, target, outcome, ip, user_agent) VALUES (?, ?, ?, ?, ?, ?, ?)',
      time.toISOString(),
      action,
      actor,
      target,
      outcome,
      ip,
      userAgent,
    );

  atomically(() => {
    if (read('SELECT 1 FROM event LIMIT 1').length > 0) return;
    for (const { clientId, secret } of DEMO_CLIENTS) {
      run('INSERT INTO client (client_id, secret_hash) VALUES (?, ?)', clientId, hash(secret));
    }
    seedTrail(now()).forEach(record);
  });

  return {
    login: (clientId, proof, origin) =>
      atomically(() => {
        const [column, shown] =
          'secret' in proof ? ['secret_hash', proof.secret] : ['refresh_hash', proof.refreshToken];
        const refreshToken = createToken();
        const { changes } = run(
          `UPDATE client SET secret_hash = NULL, refresh_hash = ? WHERE client_id = ? AND ${column} = ?`,
          hash(refreshToken),
          clientId,
          hash(shown),
        );
        const time = now();
        const outcome = changes === 1 ? 'success' : 'failure';
        record({
          time,
          action: 'client.login',
          actor: clientId,
          target: clientId,
          outcome,
          ...origin,
        });
        if (outcome === 'failure') return null;
        const accessToken = createToken();
        const endsAt = new Date(time.getTime() + ACCESS_TOKEN_SECONDS * 1000);
        run('DELETE FROM token WHERE ends_at <= ?', time.toISOString());
        run(
          'INSERT INTO token VALUES (?, ?, ?)',
          hash(accessToken),
          clientId,
          endsAt.toISOString(),
        );
        return { accessToken, refreshToken, expiresInSeconds: ACCESS_TOKEN_SECONDS };
      }),

    clientOf: (accessToken) => {
      const [row] = read(
        'SELECT client_id FROM token WHERE hash = ? AND ends_at > ?',
        hash(accessToken),
        now().toISOString(),
      );
      return row === undefined ? null : String(row['client_id']);
    },

    deleteKey: (clientId, by, origin) =>
      atomically(() => {
        const { changes } = run('DELETE FROM client WHERE client_id = ?', clientId);
        const outcome = changes === 1 ? 'success' : 'failure';
        record({
          time: now(),
          action: 'key.delete',
          actor: by,
          target: clientId,
          outcome,
          ...origin,
        });
        return outcome === 'success';
      }),

    trail: (actions) =>
      read('SELECT * FROM event ORDER BY time DESC, number DESC')
        .filter(({ action }) => actions.length === 0 || actions.includes(String(action)))
        .map(toRecord),

    [Symbol.dispose]: close,
  };
}

/** Secrets and tokens are long and random, not chosen by people: there is no dictionary to slow down. */
function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

type Row = Readonly<Record<string, unknown>>;

function toRecord(row: Row): TrailRecord {
  const text = (column: string) => (row[column] === null ? null : String(row[column]));
  return {
    id: `evt_${String(row['number']).padStart(6, '0')}`,
    occurred_at: String(row['time']),
    action: String(row['action']),
    actor: { id: text('actor'), type: 'client' },
    target: { id: text('target'), type: 'api_key' },
    outcome: row['outcome'] === 'success' ? 'success' : 'failure',
    ip_address: text('ip'),
    user_agent: text('user_agent'),
  };
}

/** A SQLite database with the three ways in which it is used. */
export type Database = {
  /** Executes a statement that changes something, and says how many rows it changed. */
  run(sql: string, ...values: SQLInputValue[]): { readonly changes: number | bigint };
  read(sql: string, ...values: SQLInputValue[]): readonly Record<string, SQLOutputValue>[];
  /** Everything in it happens, or nothing. */
  atomically<T>(work: () => T): T;
  close(): void;
};

/**
 * Opens a database and makes its tables.
 * @param file a path, or `:memory:`.
 */
export function openDatabase(file: string, tables: string): Database {
  const database = new DatabaseSync(file);
  database.exec(tables);
  return {
    run: (sql, ...values) => database.prepare(sql).run(...values),
    read: (sql, ...values) => database.prepare(sql).all(...values),
    atomically: (work) => {
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
