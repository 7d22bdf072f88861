/** Why an entry is not found: completes "… is null:". The command `learn` and explain give the same reasons. */
export const NULL_REASONS = {
  id: 'no field has the name of a record ID',
  occurredAt: 'no field with the name of an event time holds a time with a zone',
  action: 'no field has the name of an action',
  actor: 'no field has the name of an actor',
  target: 'no field has the name of a target',
  outcome:
    'no field with the name of an outcome holds a success flag, or a word for success or failure',
  ipAddress: 'no field holds the IP address of an actor',
  userAgent: 'no field has the name or the format of a user agent',
  part: 'no field next to the others has its name',
  accessToken: 'no field, or more than one, has the name of an access token',
  refreshToken: 'no field, or more than one, has the name of a refresh token',
  tokenType: 'no field has the name of a token type',
  expires: 'no field with the name of an expiry holds a lifetime or a time',
  records: 'no list of records was found, or several',
  total: 'no field or header has the name of a total',
} as const;

/** Why a field is null although it has an entry. */
export const ENTRY_REASONS = {
  contract: 'the pointer in the contract leads to no value',
  inference: 'the pointer leads to no value',
  unread: 'its values are not understood',
  none: 'the contract says that there is none',
} as const;
