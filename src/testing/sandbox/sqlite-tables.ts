import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import type { Tables } from './tables.ts';

const SCHEMA = `
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
 * Opens tables in a SQLite file.
 * @throws Node's error if it cannot be opened.
 */
export function openTables(file: string): Tables {
  const database = new DatabaseSync(file);
  database.exec(SCHEMA);
  const run = (sql: string, ...values: SQLInputValue[]) => database.prepare(sql).run(...values);
  const select = (sql: string, ...values: SQLInputValue[]) => database.prepare(sql).all(...values);
  return {
    transaction: (work) => {
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
    isEmpty: () => select('SELECT 1 FROM event UNION SELECT 1 FROM client LIMIT 1').length === 0,
    addClient: (clientId, secret) => run('INSERT INTO client VALUES (?, ?)', clientId, secret),
    hasClient: (clientId, secret) => {
      const sql = 'SELECT 1 FROM client WHERE client_id = ? AND secret_hash = ?';
      return select(sql, clientId, secret).length > 0;
    },
    deleteClient: (clientId) =>
      run('DELETE FROM client WHERE client_id = ?', clientId).changes === 1,
    addRefreshToken: (token, clientId) =>
      run('INSERT INTO refresh_token VALUES (?, ?)', token, clientId),
    listRefreshTokens: (clientId) =>
      select('SELECT hash FROM refresh_token WHERE client_id = ?', clientId).map((row) =>
        String(row['hash']),
      ),
    deleteRefreshTokens: (clientId) =>
      run('DELETE FROM refresh_token WHERE client_id = ?', clientId),
    addAccessToken: (token, { clientId, expiresAt }) =>
      run('INSERT INTO access_token VALUES (?, ?, ?)', token, clientId, expiresAt),
    findAccess: (token) => {
      const [row] = select('SELECT * FROM access_token WHERE hash = ?', token);
      return row && { clientId: String(row['client_id']), expiresAt: String(row['expires_at']) };
    },
    deleteExpired: (time) => run('DELETE FROM access_token WHERE expires_at <= ?', time),
    addEvent: ({ time, action, actor, target, outcome, ip, userAgent }) =>
      run(
        'INSERT INTO event (time, action, actor, target, outcome, ip, user_agent) VALUES (?, ?, ?, ?, ?, ?, ?)',
        ...[time, action, actor, target, outcome, ip, userAgent],
      ),
    listEvents: () =>
      select('SELECT * FROM event ORDER BY time DESC, number DESC').map((row) => {
        const text = (column: string) => (row[column] === null ? null : String(row[column]));
        return {
          number: Number(row['number']),
          time: String(row['time']),
          action: String(row['action']),
          actor: text('actor'),
          target: text('target'),
          outcome: String(row['outcome']),
          ip: text('ip'),
          userAgent: text('user_agent'),
        };
      }),
    clearEvents: () => run('DELETE FROM event'),
    [Symbol.dispose]: () => database.close(),
  };
}
