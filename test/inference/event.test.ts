import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AuditDocument } from '../../src/client/operations.generated.ts';
import type { ConfiguredContract } from '../../src/mapping/contract.ts';
import { firstOfList } from '../../src/mapping/event.ts';
import { ask, gatewayOver } from '../helpers/gateway.ts';
import { startService } from '../helpers/service.ts';

/** The events that a gateway reads from records. */
async function read(records: readonly object[], contract: ConfiguredContract = {}) {
  await using service = await startService({ body: records });
  await using gateway = gatewayOver(service.url, { contract });
  const { data } = await ask(gateway, AuditDocument, {}, { token: 't' });
  return data?.audit?.nodes;
}

/** A fact, records, and what is read from them. */
type Row = readonly [string, readonly object[], readonly object[]];

const time = '2026-11-21T10:00:00Z';
const occurredAt = '2026-11-21T10:00:00.000Z';

describe('the words of an event', () => {
  it.each<Row>([
    ['the time is when it was created', [{ whenCreated: time }], [{ occurredAt }]],
    ['a clock has the time', [{ clock: 1_795_255_200 }], [{ occurredAt }]],
    [
      'a primary key is an ID',
      [{ pk: 7, object_pk: 5 }],
      [{ id: '7', target: { identifier: '5' } }],
    ],
    ['a transaction ID is an ID', [{ txid: 'a' }, { txid: 'b' }], [{ id: 'a' }, { id: 'b' }]],
    ['a repeated transaction ID is none', [{ txid: 'a' }, { txid: 'a' }], [{ id: null }, {}]],
    ['any other ID comes before a transaction ID', [{ txid: 'a', uid: 'b' }], [{ id: 'b' }]],
    ['an ID of MongoDB is an ID', [{ _id: { $oid: 'a' } }], [{ id: 'a' }]],
    [
      'an ID of MongoDB is an ID next to a time of MongoDB',
      [{ doc: { _id: { $oid: 'a' }, timestamp: { $date: time } } }],
      [{ id: 'a' }],
    ],
    ['the ID of a nested event is an ID', [{ time, event: { id: 'a' } }], [{ id: 'a' }]],
    [
      'the ID of a nested event comes last',
      [{ log_id: 7, event: { id: 'a', name: 'Concert' } }],
      [{ id: '7' }],
    ],
    ['the ID of anything else is not', [{ time, key: { id: 'a' } }], [{ id: null }]],
    [
      'the operation of an event is its action, before its type',
      [{ event_type: 'data', event_operation: 'export' }],
      [{ action: 'export' }],
    ],
    [
      'the title of a type is an action, before its ID',
      [{ event_type_id: 4, event_type_title: 'Export' }],
      [{ action: 'Export' }],
    ],
    ['the type of a change is an action', [{ change_type: 'publish' }], [{ action: 'publish' }]],
    ['what a change contains is not', [{ change: { type: 'publish' } }], [{ action: null }]],
    [
      'the kind of the record is no action',
      [{ event: 'audit_event', operation: 'rotate' }],
      [{ action: 'rotate' }],
    ],
    [
      'the kind of the record is no action in words either',
      [{ log_type: 'audit', message: 'key rotated' }],
      [{ action: 'key rotated' }],
    ],
    [
      'the name of a nested event is the action, before its type',
      [{ events: [{ type: 'user_settings', name: 'create_user' }] }],
      [{ action: 'create_user' }],
    ],
    [
      'the name of what happened to an event is not',
      [{ type: 'ticket.sold', event: { name: 'Concert', type: 'music' } }],
      [{ action: 'ticket.sold' }],
    ],
    ['an action may be called so', [{ action: 'record' }], [{ action: 'record' }]],
    ['an editor is the actor', [{ editor: { id: 'u1' } }], [{ actor: { identifier: 'u1' } }]],
    ['an accessor is the actor', [{ accessor_name: 'Ann' }], [{ actor: { name: 'Ann' } }]],
    ['the source of a user is not', [{ user_source: 'directory' }], [{ actor: null }]],
    ['the accessor of a token is not', [{ auth: { accessor: 'a' } }], [{ actor: null }]],
  ])('%s', async (_, records, expected) => {
    expect(await read(records)).toMatchObject(expected);
  });
});

describe('the target', () => {
  const party = (identifier: unknown, name: unknown = null, type: unknown = null) => ({
    target: { identifier, name, type },
  });
  const none = { target: null };

  it.each<Row>([
    [
      'is a source with an ID, a type and a label',
      [{ source_id: 7, source_type: 'feed', source_label: 'News' }],
      [party('7', 'News', 'feed')],
    ],
    [
      'is a source with a name and a type',
      [{ data: { source: { name: 'News', type: 'feed' } } }],
      [party(null, 'News', 'feed')],
    ],
    [
      'is not the source of a search hit',
      [{ _source: { id: 7, type: 'key', name: 'a' } }, { _source: { id: 8, type: 'log' } }],
      [none, none],
    ],
    ['is no source without fields', [{ source: 'web' }], [none]],
    ['is no source with a type only', [{ source_type: 'web' }], [none]],
    ['is no address of a source', [{ source: { ip: '192.0.2.1', name: 'a' } }], [none]],
    ['is no user of a source', [{ source_user_id: 'u1' }], [none]],
    [
      'is no source beside another target',
      [{ source_id: 7, source_type: 'feed', resource: 'all rules' }],
      [party(null, 'all rules')],
    ],
    [
      'is what has an ID, before what has only a text',
      [{ target: 'file', object: { id: 'f1', name: 'Plan', type: 'doc' } }],
      [party('f1', 'Plan', 'doc')],
    ],
    [
      'is what has an ID, before what has only a name',
      [{ target: { name: 'Production' }, entity_id: 'e1', entity_type: 'server' }],
      [party('e1', null, 'server')],
    ],
    [
      'is not a subject only because it has an ID',
      [{ target: { name: 'Production' }, subject: { id: 'u1' } }],
      [party(null, 'Production')],
    ],
    [
      'has the kind of object that is beside an ID as its type',
      [{ object: 'customer', object_id: 'c1' }, { data: { object: { id: 'i1', object: 'bill' } } }],
      [party('c1', null, 'customer'), party('i1', null, 'bill')],
    ],
    [
      'has the name that is beside an ID as its name',
      [{ object: 'Bill 7 of May', object_id: 'b7' }],
      [party('b7', 'Bill 7 of May')],
    ],
    [
      'has the word that is beside an ID as its name, if things are usually called so',
      [{ asset: 'pump', asset_id: 'p7' }],
      [party('p7', 'pump')],
    ],
    ['is an object without an ID by its name', [{ object: 'customer' }], [party(null, 'customer')]],
    [
      'has no type that only says that it is a record',
      [{ record_type: 'audit.event' }, { record_type: 'log' }],
      [none, none],
    ],
    [
      'has such a type if that varies, or is beside an ID',
      [{ entity_type: 'log' }, { entity_type: 'key', resource_id: 7, resource_type: 'record' }],
      [party(null, null, 'log'), party('7', null, 'record')],
    ],
    ['is no model of a device', [{ device: { model_name: 'X1', model: 'X' } }], [none]],
    ['is nothing of a credential', [{ auth: { entity_id: 'e1' } }], [none]],
  ])('%s', async (_, records, expected) => {
    expect(await read(records)).toMatchObject(expected);
  });
});

describe('an e-mail address', () => {
  it.each<Row>([
    [
      'that identifies a party is its name',
      [{ user_id: 'ann@example.com' }],
      [{ actor: { identifier: 'ann@example.com', name: 'ann@example.com' } }],
    ],
    [
      'is its name only without another one',
      [
        { actor: { id: 'ann@example.com', name: 'Ann' } },
        { actor: { id: 'bob@example.com', name: null } },
      ],
      [{ actor: { name: 'Ann' } }, { actor: { name: 'bob@example.com' } }],
    ],
    [
      'is not expected of other identifiers',
      [{ user_id: 'ann@example.com' }, { user_id: 'system' }],
      [{ actor: { name: null } }, { actor: { name: null } }],
    ],
  ])('%s', async (_, records, expected) => {
    expect(await read(records)).toMatchObject(expected);
  });
});

describe('an HTTP status', () => {
  it.each<Row>([
    [
      'is an outcome as a status code',
      [{ statusCode: 204 }, { statusCode: '301' }, { statusCode: 404 }, { statusCode: '503' }],
      [
        { outcome: 'SUCCESS' },
        { outcome: 'SUCCESS' },
        { outcome: 'FAILURE' },
        { outcome: 'FAILURE' },
      ],
    ],
    [
      'is an outcome as the status of a response',
      [{ http: { response: { status_code: 403 } } }, { response: { status: 200 } }],
      [{ outcome: 'FAILURE' }, { outcome: 'SUCCESS' }],
    ],
    [
      'comes after an outcome in words',
      [{ status_code: 200, outcome: 'denied' }, { status_code: 200 }],
      [{ outcome: 'FAILURE' }, { outcome: 'SUCCESS' }],
    ],
    ['is none among other codes', [{ status_code: 200 }, { status_code: 7 }], [{ outcome: null }]],
    ['is none under another name', [{ status: 200, result: 404 }], [{ outcome: null }]],
    ['is none in a party', [{ resource: { status_code: 404 } }], [{ outcome: null }]],
  ])('%s', async (_, records, expected) => {
    expect((await read(records))?.slice(0, expected.length)).toMatchObject(expected);
  });
});

describe('an address', () => {
  const first = { ipAddress: '192.0.2.1' };

  it.each<Row>([
    ['is the first of a list', [{ ip: '192.0.2.1, 10.0.0.1' }], [first]],
    ['is the first of a list without spaces', [{ ip: '192.0.2.1,2001:db8::1' }], [first]],
    ['is the first of a list of any name', [{ forwarded: '192.0.2.1, 10.0.0.1' }], [first]],
    ['is read without spaces', [{ ip: '192.0.2.1 , 10.0.0.1' }], [first]],
    ['is not in a list of other things', [{ forwarded: 'a, 10.0.0.1' }], [{ ipAddress: null }]],
    ['is not empty', [{ ip: '192.0.2.1' }, { ip: ', 10.0.0.1' }], [first, { ipAddress: null }]],
  ])('%s', async (_, records, expected) => {
    expect(await read(records)).toMatchObject(expected);
  });

  it('is the first of any list', () => {
    const item = fc.string().filter((text) => !text.includes(',') && text === text.trim());
    fc.assert(
      fc.property(
        fc.array(item, { minLength: 1 }),
        fc.constantFrom(',', ', '),
        (items, separator) => {
          expect(firstOfList(items.join(separator))).toBe(items[0]);
        },
      ),
    );
  });

  it('is the first of a list where a contract specifies it', async () => {
    const contract = { audit: { event: { ipAddress: '/via' } } };
    const records = [{ via: '192.0.2.1, 10.0.0.1' }];
    expect(await read(records, contract)).toMatchObject([first]);
  });
});
