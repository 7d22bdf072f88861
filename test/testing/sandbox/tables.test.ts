import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openTables } from '../../../src/testing/sandbox/sqlite-tables.ts';
import { createTables, type Tables } from '../../../src/testing/sandbox/tables.ts';

const client = fc.constantFrom('a', 'b');
const secret = fc.constantFrom('s', 't');
const time = fc.constantFrom('2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z');
const text = fc.option(fc.constantFrom('x', 'ä'));

/** A change that a store makes: of a client only if it exists, and with a new token. */
type Change = (tables: Tables, token: string) => unknown;

const ofClient = (change: (tables: Tables, clientId: string, token: string) => unknown) =>
  client.map(
    (clientId): Change =>
      (tables, token) => {
        const exists = ['s', 't'].some((each) => tables.hasClient(clientId, each));
        return exists && change(tables, clientId, token);
      },
  );

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(client, secret).map(
    ([clientId, own]): Change =>
      (tables) => {
        const exists = ['s', 't'].some((each) => tables.hasClient(clientId, each));
        return exists || void tables.addClient(clientId, own);
      },
  ),
  client.map(
    (clientId): Change =>
      (tables) =>
        tables.deleteClient(clientId),
  ),
  ofClient((tables, clientId, token) => void tables.addRefreshToken(token, clientId)),
  ofClient((tables, clientId) => void tables.deleteRefreshTokens(clientId)),
  time.chain((expiresAt) =>
    ofClient(
      (tables, clientId, token) => void tables.addAccessToken(token, { clientId, expiresAt }),
    ),
  ),
  time.map(
    (at): Change =>
      (tables) =>
        void tables.deleteExpired(at),
  ),
  fc
    .record({
      ...{
        time,
        action: fc.constantFrom('x', 'y'),
        outcome: fc.constantFrom('SUCCESS', 'FAILURE'),
      },
      ...{ actor: text, target: text, ip: text, userAgent: text },
    })
    .map(
      (event): Change =>
        (tables) =>
          void tables.addEvent(event),
    ),
  fc.constant<Change>((tables) => void tables.clearEvents()),
);

/** All that can be read of tables. */
function read(tables: Tables, tokens: readonly string[]) {
  const clients = ['a', 'b'].map((clientId) => [
    ...['s', 't'].map((each) => tables.hasClient(clientId, each)),
    tables.listRefreshTokens(clientId).toSorted(),
  ]);
  const accesses = tokens.map((token) => tables.findAccess(token));
  return { isEmpty: tables.isEmpty(), clients, accesses, events: tables.listEvents() };
}

it('tables in memory keep what those in a file keep', () => {
  const changes = fc.array(change, { maxLength: 40, size: 'max' });
  fc.assert(
    fc.property(changes, (each) => {
      using file = openTables(':memory:');
      using memory = createTables();
      const tokens = each.map((_, index) => String(index));
      each.forEach((apply, index) => {
        const [one, other] = [file, memory].map((tables) =>
          tables.transaction(() => apply(tables, String(index))),
        );
        expect(other).toEqual(one);
        expect(read(memory, tokens)).toEqual(read(file, tokens));
      });
    }),
  );
});
