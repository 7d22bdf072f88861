import { z } from 'zod';
import { contractSchema } from './contract-schema.ts';

/** The description of each entry, which editors show. */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  $schema: 'This JSON Schema, for editors: "node_modules/keytrail/dist/contract.schema.json".',
  login: 'The response of POST /api/v1/auth/login.',
  'login.accessToken':
    'Where the access token is: pointers, {"header": "name"}, or "" if the body is the token as plain text.',
  'login.refreshToken': 'Where the refresh token is: pointers, or {"header": "name"}.',
  'login.tokenType': 'Where the token type is, such as Bearer: pointers, or {"header": "name"}.',
  'login.expires':
    'When the access token expires: {"at": pointers or header, "as": format}. The format is a lifetime (seconds, milliseconds), jwt (the claim exp), or one of a time.',
  audit: 'The response of GET /api/v1/audit.',
  'audit.records':
    'Where the list of records is, or an object whose members are the records; "" if the response itself is the list. One token may be *, for records in groups: "/data/*/logs".',
  'audit.total':
    'Where the number of all records is, on all pages: pointers, or {"header": "name"}.',
  'audit.order':
    'Whether the trail begins with its newest or its oldest record, for `auditEvents`. Default: inferred from the times.',
  'audit.identity':
    'What identifies a record, if a member differs in each response: the values at all of these pointers, relative to the record. Default: the whole record.',
  'audit.paging': 'How to request the next page.',
  'audit.paging.style': 'How the service divides the list into pages.',
  'audit.paging.next':
    'Where the cursor of the next page or the link to it is: pointers, or {"header": "name"}.',
  'audit.paging.more': 'Where a flag is that says whether there are more pages.',
  'audit.paging.position': 'Where the number of this page, or the offset of its first record, is.',
  'audit.paging.pages': 'Where the number of pages is.',
  'audit.paging.start': 'The number of the first page, or the first offset, if no field has it.',
  'audit.paging.parameter':
    "The service's query parameter for a cursor, a page number, an offset, the last ID or the last value.",
  'audit.paging.size': "The service's query parameter for the page size.",
  'audit.paging.follow':
    '"query": take only the query of a link to the next page, whatever its host and path.',
  'audit.paging.last': 'With the style last-value: where the value is in a record.',
  'audit.paging.inclusive':
    'With the style last-value: true if the next page has the records with this value again.',
  'audit.parameters': "The service's own query parameters for conditions of the filter.",
  'audit.parameters.since': 'The query parameter for filter.since.',
  'audit.parameters.until': 'The query parameter for filter.until.',
  'audit.parameters.actor': 'The query parameter for filter.actor.',
  'audit.parameters.action': 'The query parameter for the action, if filter.actions has one.',
  'audit.event': 'The fields of a record. Pointers are relative to the record.',
  'audit.event.id': "Where the service's ID of the record is.",
  'audit.event.occurredAt':
    'Where the time of the event is: pointers, or {"at": pointers, "as": format, "zone": zone of times without one}.',
  'audit.event.action':
    'Where the action is: pointers, or {"at": pointers, "map": {"value": "text"}, "else": "keep"}, or with "split" and "part".',
  'audit.event.outcome':
    'Where the outcome is: pointers of a success flag or of words such as ok and denied, or {"at": pointers, "map": {"value": "SUCCESS" or "FAILURE"}}.',
  'audit.event.actor': 'Who did it.',
  'audit.event.target': 'What it was done to.',
  'audit.event.ipAddress': 'Where the IP address of the actor is.',
  'audit.event.userAgent': 'Where the user agent of the actor is.',
  ...describeParty('actor'),
  ...describeParty('target'),
};

function describeParty(role: string): Readonly<Record<string, string>> {
  return {
    [`audit.event.${role}.identifier`]: `Where the identifier of the ${role} is: pointers, or {"at": pointers, "split": ":", "part": 2} for one of two facts in a text.`,
    [`audit.event.${role}.name`]: `Where the name of the ${role} is, or its e-mail address.`,
    [`audit.event.${role}.type`]: `Where the type of the ${role} is: pointers, or {"at": pointers, "map": {"value": "text"}}.`,
    [`audit.event.${role}.apiKey`]: `Whether the ${role} is an API key, with its client ID as identifier: true, or the types that are. Default: the types that say so, such as api_key.`,
  };
}

/** A JSON Schema, as far as it is used here. */
type JsonSchema = {
  description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
};

/** Creates the JSON Schema of a contract file (draft 7, which editors know). It cannot check zones and patterns. */
export function createContractJsonSchema(): object {
  const schema = z.toJSONSchema(contractSchema, { target: 'draft-7' });
  addDescriptions(schema as JsonSchema, ''); // its properties are objects, not booleans
  return { ...schema, title: 'A contract of Keytrail' };
}

function addDescriptions({ properties = {} }: JsonSchema, parent: string): void {
  for (const [name, schema] of Object.entries(properties)) {
    const entry = parent + name;
    const description = DESCRIPTIONS[entry];
    if (description !== undefined) schema.description = description;
    addDescriptions(schema, `${entry}.`);
  }
}
