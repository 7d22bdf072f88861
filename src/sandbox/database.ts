import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from 'node:sqlite';

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
