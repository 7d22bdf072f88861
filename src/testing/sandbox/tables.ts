/** What a store keeps. It has hashes of secrets and tokens only. */
export type Tables = Disposable & {
  /** Makes all changes of `work`, or none if it throws. */
  transaction<Result>(work: () => Result): Result;
  isEmpty(): boolean;
  addClient(clientId: string, secret: string): void;
  hasClient(clientId: string, secret: string): boolean;
  /** Deletes a client and its tokens. False if there is no such client. */
  deleteClient(clientId: string): boolean;
  addRefreshToken(token: string, clientId: string): void;
  listRefreshTokens(clientId: string): readonly string[];
  deleteRefreshTokens(clientId: string): void;
  addAccessToken(token: string, access: Access): void;
  findAccess(token: string): Access | undefined;
  /** Deletes the access tokens that have expired at a time. */
  deleteExpired(time: string): void;
  addEvent(event: StoredEvent): void;
  /** Newest first. */
  listEvents(): readonly (StoredEvent & { readonly number: number })[];
  clearEvents(): void;
};

/** Whom an access token is for, and until when. */
export type Access = { readonly clientId: string; readonly expiresAt: string };

/** An event, with its time in ISO 8601. */
export type StoredEvent = {
  readonly time: string;
  readonly action: string;
  readonly actor: string | null;
  readonly target: string | null;
  readonly outcome: string;
  readonly ip: string | null;
  readonly userAgent: string | null;
};

/** Creates tables in memory. No change of them can fail, so that a transaction has nothing to undo. */
export function createTables(): Tables {
  const clients = new Map<string, string>();
  const refreshTokens = new Map<string, string>();
  const accessTokens = new Map<string, Access>();
  const events: (StoredEvent & { readonly number: number })[] = []; // oldest first
  const deleteRefreshTokens = (clientId: string) => {
    for (const [token, owner] of refreshTokens) if (owner === clientId) refreshTokens.delete(token);
  };
  const deleteAccess = (isDeleted: (access: Access) => boolean) => {
    for (const [token, access] of accessTokens) if (isDeleted(access)) accessTokens.delete(token);
  };
  return {
    transaction: (work) => work(),
    isEmpty: () => clients.size === 0 && events.length === 0,
    addClient: (clientId, secret) => clients.set(clientId, secret),
    hasClient: (clientId, secret) => clients.get(clientId) === secret,
    deleteClient: (clientId) => {
      deleteRefreshTokens(clientId);
      deleteAccess((access) => access.clientId === clientId);
      return clients.delete(clientId);
    },
    addRefreshToken: (token, clientId) => refreshTokens.set(token, clientId),
    listRefreshTokens: (clientId) =>
      [...refreshTokens].flatMap(([token, owner]) => (owner === clientId ? [token] : [])),
    deleteRefreshTokens,
    addAccessToken: (token, access) => accessTokens.set(token, access),
    findAccess: (token) => accessTokens.get(token),
    deleteExpired: (time) => deleteAccess(({ expiresAt }) => expiresAt <= time),
    addEvent: (event) => {
      const older = events.findLastIndex(({ time }) => time <= event.time);
      events.splice(older + 1, 0, { ...event, number: events.length + 1 });
    },
    listEvents: () => events.toReversed(),
    clearEvents: () => {
      events.length = 0;
    },
    [Symbol.dispose]: () => {},
  };
}
