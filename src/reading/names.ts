/** The vocabulary: under which names services usually give what the graph exposes, best first, folded as {@link fold} does. */
export const NAMES = {
  accessToken: ['accesstoken', 'token', 'jwt', 'bearertoken'],
  refreshToken: ['refreshtoken'],
  tokenType: ['tokentype'],
  expiresIn: ['expiresin', 'expiresinseconds', 'lifetime', 'ttl'],
  expiresAt: ['expiresat', 'expireson', 'expiry', 'expiration', 'expires'],
  records: [
    'events',
    'records',
    'items',
    'data',
    'results',
    'logs',
    'entries',
    'auditlogs',
    'audit',
  ],
  total: ['total', 'totalcount', 'totalresults', 'totalitems'],
  id: ['id', 'eventid', 'auditid', 'logid', 'uuid', 'uid'],
  occurredAt: [
    'occurredat',
    'occurred',
    'eventtime',
    'eventdate',
    'timestamp',
    'time',
    'datetime',
    'date',
    'createdat',
    'created',
    'createddate',
    'datecreated',
    'loggedat',
    'recordedat',
  ],
  action: [
    'action',
    'eventtype',
    'actiontype',
    'event',
    'eventname',
    'operation',
    'activity',
    'type',
  ],
  actor: ['actor', 'user', 'principal', 'initiator', 'performedby', 'author', 'member'],
  target: ['target', 'targets', 'resource', 'object', 'entity', 'subject'],
  outcome: ['outcome', 'result', 'status', 'success'],
  ipAddress: [
    'ipaddress',
    'ip',
    'sourceip',
    'sourceipaddress',
    'clientip',
    'remoteip',
    'remoteaddress',
  ],
  userAgent: ['useragent'],
  partyId: ['id', 'uuid', 'uid'],
  partyName: ['name', 'displayname', 'fullname', 'email', 'login', 'username'],
  partyType: ['type', 'kind'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** Members of an object by their folded names. */
export type Members = ReadonlyMap<string, unknown>;

/** Folds case and separators: createdAt, created_at and CREATED-AT are one. */
export function fold(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

/** The members of an object that are not null; none of anything else. Of two that fold alike the first counts. */
export function membersOf(value: unknown): Members {
  const members = new Map<string, unknown>();
  if (!isObject(value)) return members;
  for (const [name, member] of Object.entries(value)) {
    const folded = fold(name);
    if (member !== null && !members.has(folded)) members.set(folded, member);
  }
  return members;
}

/** What stands under the first of the names that is there; `undefined` where none is. */
export function lookUp(members: Members, names: readonly string[]): unknown {
  return members.get(names.find((name) => members.has(name)) ?? '');
}

/** Whether it is a JSON object: no array, no null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A word to be compared: a text, a number or a boolean, in lower case; empty for anything else. */
export function wordOf(value: unknown): string {
  return /^(?:string|number|boolean)$/.test(typeof value) ? `${value}`.toLowerCase() : '';
}

/** A text, or a number in digits; null for anything else and for the empty text. */
export function textOf(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : null;
}
