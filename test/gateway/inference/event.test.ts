import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AuditDocument } from '../../../src/client/operations.generated.ts';
import type { ConfiguredContract } from '../../../src/gateway/mapping/contract.ts';
import { firstOfList } from '../../../src/gateway/mapping/event.ts';
import { ask, gatewayOver } from '../../helpers/gateway.ts';
import { startService } from '../../helpers/service.ts';

/** The events that a gateway reads from records. */
async function read(records: readonly object[], contract: ConfiguredContract = {}) {
  await using service = await startService({ body: records });
  await using gateway = gatewayOver(service.url, { contract });
  const { data } = await ask(gateway, AuditDocument, {}, { token: 't' });
  return data?.audit?.nodes;
}

/** A fact, records, and what is read from them. */
type Row = readonly [string, readonly object[], readonly object[]];

const occurredAt = '2026-11-21T10:00:00.000Z';

/** A row of which every record is whole: of a page of three, the first event is compared. */
type PageRow = readonly [string, (index: number) => object, object];

const at = (index: number) => `2026-11-21T10:0${index}:00Z`;
const pick = (values: string, index: number) => values.split(' ')[index];

/** What every record has. */
const plain = (index: number) => ({
  id: `evt_10${index}`,
  created_at: at(index),
  action: pick('feed.update feed.create user.login', index),
  actor: { id: `u${index}`, name: pick('Ann Bob Ann', index) },
});

/** The same without an actor. */
const withoutActor = (index: number) => ({ ...plain(index), actor: undefined });

/** The same with a time whose zone is unknown. */
const local = (index: number) => ({
  ...plain(index),
  ...{ created_at: undefined, timestamp: `2026-11-21 10:00:0${index}` },
});

const old = '2020-01-01T00:00:00Z';

const PLAIN = {
  ...{ id: 'evt_100', occurredAt, action: 'feed.update', outcome: null },
  actor: { identifier: 'u0', name: 'Ann', type: null },
  ...{ target: null, ipAddress: null, userAgent: null },
};

const readPage = async (toRecord: (index: number) => object) =>
  (await read([0, 1, 2].map(toRecord)))?.[0];

describe('the words of an event', () => {
  it.each<PageRow>([
    [
      'the time is when it was created',
      (index) => ({ ...plain(index), created_at: undefined, whenCreated: at(index) }),
      PLAIN,
    ],
    [
      'a clock has the time',
      (index) => ({ ...plain(index), created_at: undefined, clock: 1_795_255_200 + index }),
      PLAIN,
    ],
    [
      'a primary key is an ID',
      (index) => ({ ...plain(index), id: undefined, pk: 7 + index, object_pk: 5 + index }),
      { id: '7', target: { identifier: '5' } },
    ],
    [
      'a repeated transaction ID is none',
      (index) => ({ ...plain(index), id: undefined, txid: '9f8e7d6c5b4a' }),
      { ...PLAIN, id: null },
    ],
    [
      'any other ID comes before a transaction ID',
      (index) => ({ txid: `9f8e7d6c5b4${index}`, ...plain(index) }),
      PLAIN,
    ],
    [
      'an ID of MongoDB is an ID next to a time of MongoDB',
      (index) => ({
        _id: { $oid: `65f0c1ab2d3e4f506172839${index}` },
        timestamp: { $date: at(index) },
        action: pick('rotate create rotate', index),
        user: { id: `u${index}`, name: 'Ann' },
      }),
      { id: '65f0c1ab2d3e4f5061728390', occurredAt, action: 'rotate' },
    ],
    [
      'the ID of a nested event is an ID',
      (index) => ({
        ...{ time: at(index), actor: { id: `u${index}`, name: 'Ann' } },
        event: { id: `evt_10${index}`, type: pick('key.rotate key.create key.rotate', index) },
      }),
      { id: 'evt_100', action: 'key.rotate', target: null },
    ],
    [
      'the ID of a nested event comes last',
      (index) => ({ log_id: 7 + index, time: at(index), event: { id: `e${index}`, name: 'a.b' } }),
      { id: '7' },
    ],
    [
      'the operation of an event is its action, before its type',
      (index) => ({
        ...plain(index),
        ...{ action: undefined, event_type: 'data' },
        event_operation: pick('export import export', index),
      }),
      { ...PLAIN, action: 'export' },
    ],
    [
      'the title of a type is an action, before its ID',
      (index) => ({
        ...plain(index),
        ...{ action: undefined, event_type_id: 4 + index },
        event_type_title: pick('Export Import Export', index),
      }),
      { ...PLAIN, action: 'Export' },
    ],
    [
      'what a change contains is no action',
      (index) => ({ ...plain(index), action: undefined, change: { type: 'publish' } }),
      { ...PLAIN, action: null },
    ],
    [
      'the kind of the record is no action',
      (index) => ({
        ...plain(index),
        ...{ action: undefined, event: 'audit_event' },
        operation: pick('rotate create rotate', index),
      }),
      { ...PLAIN, action: 'rotate' },
    ],
    [
      'the name of what happened to an event is no action',
      (index) => ({
        ...plain(index),
        ...{ action: undefined, type: pick('ticket.sold ticket.used ticket.sold', index) },
        event: { name: 'Concert', type: 'music' },
      }),
      { action: 'ticket.sold' },
    ],
    [
      'an action may be called like a record',
      (index) => ({ ...plain(index), action: 'record' }),
      { ...PLAIN, action: 'record' },
    ],
    [
      'an editor is the actor',
      (index) => ({ ...withoutActor(index), editor: { id: `u${index}`, name: 'Ann' } }),
      PLAIN,
    ],
    [
      'the source of a user is not',
      (index) => ({ ...withoutActor(index), user_source: 'directory' }),
      { ...PLAIN, actor: null },
    ],
    [
      'the accessor of a token is not',
      (index) => ({ ...withoutActor(index), auth: { accessor: `9f8e7d6c5b4a${index}` } }),
      { ...PLAIN, actor: null },
    ],
  ])('%s', async (_, toRecord, expected) => {
    expect(await readPage(toRecord)).toMatchObject(expected);
  });
});

describe('the target', () => {
  const party = (identifier: unknown, name: unknown = null, type: unknown = null) => ({
    target: { identifier, name, type },
  });
  const none = { target: null };

  it.each<PageRow>([
    [
      'is not the source of a search hit',
      (index) => ({ _id: `9f8e7d6c5b4a${index}`, _source: plain(index) }),
      { ...PLAIN, id: '9f8e7d6c5b4a0' },
    ],
    [
      'is no address of a source',
      (index) => ({ ...plain(index), source: { ip: `192.0.2.${index}`, name: 'portal' } }),
      { ...none, ipAddress: '192.0.2.0' },
    ],
    ['is no user of a source', (index) => ({ ...plain(index), source_user_id: `u${index}` }), none],
    [
      'is no source with a type only',
      (index) => ({ ...plain(index), source_type: pick('web api cli', index) }),
      none,
    ],
    [
      'is what has an ID, before what has only a text',
      (index) => ({
        ...plain(index),
        target: 'file',
        object: { id: `f${index}`, name: 'Plan', type: 'doc' },
      }),
      party('f0', 'Plan', 'doc'),
    ],
    [
      'is what has an ID, before what has only a name',
      (index) => ({
        ...plain(index),
        target: { name: pick('Production Staging Test', index) },
        ...{ entity_id: `e${index}`, entity_type: 'server' },
      }),
      party('e0', null, 'server'),
    ],
    [
      'has the ID that is beside the kind of object',
      (index) => ({
        ...plain(index),
        data: { object: { id: `c${index}`, object: pick('customer bill customer', index) } },
      }),
      party('c0'),
    ],
    [
      'has no type that only says that it is a record',
      (index) => ({ ...plain(index), record_type: 'audit.event' }),
      none,
    ],
    [
      'is no model of a device',
      (index) => ({ ...plain(index), device: { model_name: `X${index}`, model: 'X' } }),
      none,
    ],
    [
      'is nothing of a credential',
      (index) => ({ ...plain(index), auth: { entity_id: `9f8e7d6c5b4a${index}` } }),
      none,
    ],
  ])('%s', async (_, toRecord, expected) => {
    expect(await readPage(toRecord)).toMatchObject(expected);
  });
});

describe('an event', () => {
  /** Adds fields of other things to a record, which is then read as without them. */
  const OTHER_THINGS: readonly (readonly [string, (index: number) => object])[] = [
    ['an ID of a user', (index) => ({ uid: `u${index}` })],
    ['a flag of a user', () => ({ is_admin: 0 })],
    ['a session of a user', () => ({ user_session_id: 's1', last_login: old })],
    ['an e-mail', () => ({ email: { subject: 'Reset your password' } })],
    ['a session with a start', () => ({ session: { id: 's1', started_at: old } })],
    ['a time of a key', () => ({ key: { created_at: old } })],
    ['a time of a login', (index) => ({ last_login_at: at(index), expires_at: at(index) })],
    ['an ID of an account', (index) => ({ account_id: `a${index}`, tenant_id: `t${index}` })],
    [
      'an ID of a request',
      (index) => ({ request_id: `r${index}`, trace_id: `4e5f6a7b8c9${index}` }),
    ],
    ['a key', (index) => ({ key: `k${index}` })],
    ['an organization', () => ({ organization: { id: 'o1', name: 'Example', type: 'free' } })],
    ['a project', () => ({ project: { id: 'p1', name: 'Portal' } })],
    ['an owner', () => ({ owner: { id: 'u7', name: 'Zoe' } })],
    ['who approved it', () => ({ approved_by: { id: 'u7', name: 'Zoe' } })],
    ['a place', () => ({ location: { city: 'Oslo', country: 'NO' } })],
    ['a source', (index) => ({ source: pick('web api cli', index), service: 'portal' })],
    ['tags', () => ({ tags: ['a', 'b'], labels: { env: 'prod' } })],
    ['a change', () => ({ changes: { name: ['a', 'b'], status: ['active', 'failed'] } })],
    ['a flag of failures', (index) => ({ is_error: index === 0, not_successful: index === 0 })],
    ['a code', (index) => ({ error_code: index })],

    ['a version', (index) => ({ app_version: `10.0.1.${index}` })],
    ['an address of a name server', (index) => ({ dns_server: `192.0.2.${index}` })],
    ['an address of a resource', (index) => ({ resource: { ip: `192.0.2.${index}` } })],
    ['an address of a server', (index) => ({ server_ip: `192.0.2.${index}` })],
    [
      'the status of a job',
      (index) => ({ job: { status: pick('failed completed failed', index) } }),
    ],
    ['the status of a key', (index) => ({ key: { status: pick('blocked active failed', index) } })],
    ['the status of a plan', (index) => ({ plan_status: pick('complete failed failed', index) })],
    ['who created a key', () => ({ key: { created_by: 'bob' } })],
    ['a duration and a MAC address', () => ({ duration: '00:00:05', mac: 'aa:bb:cc:dd:ee:ff' })],
    ['a browser', (index) => ({ browser: pick('Chrome Firefox Chrome', index) })],
    ['a time of a token', () => ({ token_issued_at: old })],
    ['an ID of a key', (index) => ({ key: { id: `k${index}` } })],
    ['an address that is allowed', (index) => ({ allowed_ip: `192.0.2.${index}` })],
    ['the version of a device', (index) => ({ firmware: `10.0.1.${index}` })],
    ['a user', (index) => ({ user: { id: `x${index}`, email: `zoe${index}@example.com` } })],
    [
      'the name of a browser',
      (index) => ({ user_agent: { name: pick('Chrome Firefox Chrome', index) } }),
    ],
  ];

  it.each(OTHER_THINGS)('is read as before with %s beside it', async (_, toOthers) => {
    expect(await readPage((index) => ({ ...plain(index), ...toOthers(index) }))).toMatchObject(
      PLAIN,
    );
  });

  it.each<PageRow>([
    [
      'a number of digits of a date is no time',
      (index) => ({
        ...plain(index),
        created_at: undefined,
        timestamp: 20_261_121_100_000 + index,
      }),
      { ...PLAIN, occurredAt: null },
    ],
    [
      'a time with a zone is read under a name that says GMT',
      (index) => ({ ...plain(index), created_at: undefined, gmt_create: at(index) }),
      PLAIN,
    ],
    [
      'a time without a zone is not replaced by that of a user',
      (index) => ({ ...local(index), user: { name: 'Ann', created_at: old } }),
      { occurredAt: null },
    ],
    [
      'the time of a change is none of the event',
      (index) => ({ id: `evt_10${index}`, action: 'rotate', updated_at: at(index) }),
      { occurredAt: null },
    ],
    [
      'an ID of a session is no ID of a record',
      (index) => ({ time: at(index), action: 'rotate', session_id: `s${index}` }),
      { id: null },
    ],
    [
      'the ID of a user who comes first is no ID of a record',
      (index) => ({ user_id: `u${index}`, time: at(index), action: 'rotate' }),
      { id: null, actor: { identifier: 'u0', name: null } },
    ],
    [
      'an organization of the actor is not the actor',
      (index) => ({
        ...withoutActor(index),
        actor: { type: 'user', organization: { id: `o${index}` } },
      }),
      { actor: { identifier: null, name: null } },
    ],
    [
      'a project of the target is not the target',
      (index) => ({
        ...withoutActor(index),
        target: {
          type: 'key',
          name: pick('CI CD CI', index),
          project: { id: `p${index}`, name: 'Portal' },
        },
      }),
      { target: { identifier: null, name: 'CI', type: 'key' } },
    ],
    [
      'the user of a session is the actor',
      (index) => ({
        ...withoutActor(index),
        actor: {
          type: 'session',
          session: { id: `s${index}`, user: { id: `u${index}`, email: 'ann@example.com' } },
        },
      }),
      { actor: { identifier: 'u0', name: 'ann@example.com', type: 'session' } },
    ],
    [
      'the user in the parameters of a request is not the actor',
      (index) => ({
        ...withoutActor(index),
        userIdentity: { principalId: `p${index}` },
        requestParameters: { userName: pick('ann bob ann', index) },
      }),
      { actor: { identifier: 'p0', name: null } },
    ],
    [
      'the user on whom somebody acts does not name the actor',
      (index) => ({
        ...withoutActor(index),
        actor_id: `a${index}`,
        target_user_name: pick('Ann Bob Ann', index),
      }),
      { actor: { identifier: 'a0', name: null } },
    ],
    [
      'a user beside an ID of the actor does not name the actor',
      (index) => ({
        ...withoutActor(index),
        actor_id: `a${index}`,
        user: { id: `u${index}`, name: 'Ann' },
      }),
      { actor: { identifier: 'a0', name: null } },
    ],
    [
      'a target has the ID and the name of one object',
      (index) => ({
        ...plain(index),
        resource: { id: `r${index}`, name: 'Plan' },
        record: { id: `i${index}`, type: 'page' },
      }),
      { target: { identifier: 'r0', name: 'Plan' } },
    ],
    [
      'a name comes before an e-mail address',
      (index) => ({
        ...withoutActor(index),
        actor: { id: 'u-1', email: 'ann@example.com', name: 'Ann' },
      }),
      { actor: { identifier: 'u-1', name: 'Ann' } },
    ],
    [
      'what reads as a time is no action',
      (index) => ({ id: `evt_10${index}`, created_at: at(index), event: at(index) }),
      { action: null },
    ],

    [
      'a key is no ID of a record',
      (index) => ({ time: at(index), action: 'rotate', key: `k${index}` }),
      { id: null },
    ],
    [
      'a role of the actor is not the actor',
      (index) => ({
        ...withoutActor(index),
        actor: { email: 'ann@example.com', role: { id: `r${index}`, name: 'Owner' } },
      }),
      { actor: { identifier: null, name: 'ann@example.com' } },
    ],
    [
      'a tenant of the actor is not the actor',
      (index) => ({ ...withoutActor(index), actor: { name: 'Ann', tenant_id: `t${index}` } }),
      { actor: { identifier: null, name: 'Ann' } },
    ],
    [
      'a time without a zone is not replaced by that of a session',
      (index) => ({ ...local(index), session: { started_at: old } }),
      { occurredAt: null },
    ],
    [
      'an owner of the target is not the target',
      (index) => ({
        ...withoutActor(index),
        target: { type: 'key', owner: { id: `u${index}`, name: 'Zoe' } },
      }),
      { target: { identifier: null, name: null, type: 'key' } },
    ],
    [
      'the address of the destination is not that of the actor',
      (index) => ({ ...plain(index), destination_ip: '198.51.100.7', ip: `192.0.2.${index}` }),
      { ipAddress: '192.0.2.0' },
    ],
    [
      'the word for a role is not the name of the actor',
      (index) => ({
        ...withoutActor(index),
        actor: { id: `u${index}`, role: pick('owner member owner', index) },
      }),
      { actor: { identifier: 'u0', name: null } },
    ],
    [
      'a time without a zone is not replaced by that of a key',
      (index) => ({ ...local(index), key: { created_at: old } }),
      { occurredAt: null },
    ],
    [
      'a name of a target may have more words than another',
      (index) => ({
        ...withoutActor(index),
        target: {
          id: `key_${1000 + index}`,
          name: index === 1 ? 'Key of the team "Łódź"' : 'CI',
          type: 'api_key',
        },
      }),
      { target: { identifier: 'key_1000', name: 'CI', type: 'api_key' } },
    ],
    [
      'a token is not a name',
      (index) => ({
        ...withoutActor(index),
        actor: { id: `u${index}`, token: 'a1b2c3d4e5f6a7b8' },
      }),
      { actor: { identifier: 'u0', name: null } },
    ],
    [
      'the actor of an authentication comes before a user',
      (index) => ({
        ...withoutActor(index),
        user: pick('bob zoe bob', index),
        auth: { actor: { id: `u${index}`, name: pick('Ann Bob Ann', index) } },
      }),
      PLAIN,
    ],
    [
      'a session is no ID of a record',
      (index) => ({ ...plain(index), id: undefined, sid: pick('s1 s1 s2', index) }),
      { ...PLAIN, id: null },
    ],
    ...[
      { condition: { operator: 'eq' } },
      { actor_session_id: 's1' },
      { requestParameters: { comparisonOperator: 'eq' } },
    ].map(
      (others): PageRow => [
        `a user is the actor beside ${JSON.stringify(others)}`,
        (index) => ({
          ...withoutActor(index),
          user: { id: `u${index}`, name: pick('Ann Bob Ann', index) },
          ...others,
        }),
        { actor: { identifier: 'u0', name: 'Ann' } },
      ],
    ),
    [
      'users in two wrappers are two people',
      (index) => ({
        ...withoutActor(index),
        context: { user: { name: pick('Ann Bob Ann', index) } },
        details: { user: { name: pick('Zoe Max Zoe', index) } },
      }),
      { actor: null },
    ],
    [
      'an ID in a wrapper may occur twice in a page',
      (index) => ({
        ...plain(index),
        id: undefined,
        event: { id: pick('e0 e1 e1', index), key: { id: `k${index}` } },
      }),
      { id: 'e0' },
    ],
    [
      'an ID of a record may occur twice in a page',
      (index) => ({ ...plain(index), id: pick('e0 e1 e1', index) }),
      { ...PLAIN, id: 'e0' },
    ],
    [
      'an ID of a kind of event is no ID of a record',
      (index) => ({ ...plain(index), id: undefined, event_id: pick('4624 4625 4624', index) }),
      { ...PLAIN, id: null },
    ],
    [
      'another date is not the time of an event',
      (index) => ({ ...plain(index), created_at: undefined, renewal_date: old }),
      { ...PLAIN, occurredAt: null },
    ],
    [
      'the value of a change is not the address of the actor',
      (index) => ({ ...plain(index), action: 'dns.update', value: `10.0.0.${index}` }),
      { ipAddress: null },
    ],
    [
      'a time without a zone is not replaced by that of a token',
      (index) => ({ ...local(index), token_issued_at: old }),
      { occurredAt: null },
    ],
    [
      'the user in the data of a request is not the actor',
      (index) => ({
        ...withoutActor(index),
        auth: { principal: pick('ann bob ann', index) },
        request: { data: { user: { id: `u${index}`, email: 'bob@example.com' } } },
      }),
      { actor: { identifier: null, name: 'ann' } },
    ],
    [
      'a user beside the actor is not the actor',
      (index) => ({
        ...withoutActor(index),
        user: { id: `u${index}`, name: 'Ann' },
        actor: { id: `a${index}`, name: 'Zoe' },
      }),
      { actor: { identifier: 'a0', name: 'Zoe' } },
    ],
    [
      'a user beside who performed the action is not the actor',
      (index) => ({
        ...withoutActor(index),
        user: pick('ann bob ann', index),
        action_performed_by: 'zoe',
      }),
      { actor: { identifier: null, name: 'zoe' } },
    ],
    [
      'a text that is the target may be its name or its type',
      (index) => ({ ...plain(index), target: pick('portal ci production', index) }),
      { target: null },
    ],
  ])('%s', async (_, toRecord, expected) => {
    expect(await readPage(toRecord)).toMatchObject(expected);
  });

  it('has no other person in a record without its actor', async () => {
    const people = (index: number) => ({
      ...withoutActor(index),
      actor: index === 1 ? null : { id: `a${index}`, name: 'Ann' },
      approver: { id: `b${index}`, name: 'Bob' },
      target_user: { id: `c${index}`, name: 'Zoe' },
    });
    const actors = (await read([0, 1, 2].map(people)))?.map(({ actor }) => actor?.name ?? null);
    expect(actors).toEqual(['Ann', null, 'Ann']);
  });

  it('has the actor, not the user, of the records that have both', async () => {
    const people = (index: number) => ({
      ...withoutActor(index),
      user: { id: `u${index}`, name: 'Bob' },
      ...(index === 1 && { initiator: { id: 'a1', name: 'Ann' } }),
    });
    const actors = (await read([0, 1, 2].map(people)))?.map(({ actor }) => actor?.name ?? null);
    expect(actors).toEqual(['Bob', 'Ann', 'Bob']);
  });

  it('has the actor of each of two kinds of records', async () => {
    const people = (index: number) => ({
      ...withoutActor(index),
      ...(index === 1
        ? { user: { id: 'u1', name: 'Bob' } }
        : { actor: { id: `a${index}`, name: 'Ann' } }),
    });
    const actors = (await read([0, 1, 2].map(people)))?.map(({ actor }) => actor?.name ?? null);
    expect(actors).toEqual(['Ann', 'Bob', 'Ann']);
  });
});

describe('what a caller writes into a member of free form', () => {
  const own = (index: number) => ({
    ts: `2026-11-21T10:00:0${index % 10}Z`,
    who: pick('ann bob zoe', index % 3),
    action: 'key.create',
  });
  const fifty = Array.from({ length: 50 }, (_, index) => own(index));
  const forge = (
    member: string,
    value: unknown,
    isForged: (index: number) => boolean = (index) => index === 7,
  ) => fifty.map((record, index) => (isForged(index) ? { ...record, [member]: value } : record));

  it.each<readonly [string, unknown]>([
    ['details', { actor: { id: 'innocent' } }],
    ['details', { actor: 'innocent', actor_id: 'innocent', actor_name: 'Innocent' }],
    ['request', { body: { occurred_at: '2020-01-01T00:00:00Z', user_id: 'innocent' } }],
    ['metadata', { action: 'login', outcome: 'denied', http: { status_code: 403 } }],
    ['anything', { ip: '192.0.2.66', user_agent: 'curl/8.0', target: { id: 'x', type: 'key' } }],
    [
      'details',
      Object.fromEntries(fifty.map((_, index) => [`actor_${index}`, { id: `a${index}` }])),
    ],
    ['details', Object.fromEntries(Array.from({ length: 1200 }, (_, index) => [`k${index}`, 'v']))],
    ['details', { logs: [{ time: '2020-01-01T00:00:00Z', event: 'login' }] }],
  ])('changes no record: %s', async (member, value) => {
    const expected = await read(fifty);
    expect(await read(forge(member, value))).toEqual(expected);
    // First in the record.
    const first = fifty.map((record, index) =>
      index === 0 ? { [member]: value, ...record } : record,
    );
    expect(await read(first)).toEqual(expected);
    expect(expected?.[7]).toMatchObject({
      action: 'key.create',
      occurredAt: '2026-11-21T10:00:07.000Z',
    });
  });

  it('in all records is read only if the record itself has no such field', async () => {
    const value = { actor: { id: 'innocent' }, ip: '192.0.2.66' };
    const events = await read(forge('details', value, () => true));
    const expected = await read(fifty);
    expect(events?.map(({ actor }) => actor?.name)).toEqual(
      expected?.map(({ actor }) => actor?.name),
    );
    expect(events?.map(({ ipAddress }) => ipAddress)).toEqual(fifty.map(() => '192.0.2.66'));
    expect(expected?.every(({ ipAddress }) => ipAddress === null)).toBe(true);
  });

  it('makes a field null if two members of all records have it', async () => {
    const records = fifty.map((record) => ({ ...record, context: { ip_address: '192.0.2.1' } }));
    expect((await read(records))?.[0]?.ipAddress).toBe('192.0.2.1');
    const forged = records.map((record) => ({ ...record, details: { client_ip: '192.0.2.66' } }));
    expect((await read(forged))?.[0]?.ipAddress).toBeNull();
  });

  it('proves no zone of the times of other records', async () => {
    const local = fifty.map((record) => ({ ...record, ts: record.ts.replace('Z', '') }));
    const forged = local.map((record, index) =>
      index === 7 ? { ...record, details: { at: `${record.ts}Z` } } : record,
    );
    expect((await read(forged))?.map(({ occurredAt }) => occurredAt)).toEqual(
      local.map(() => null),
    );
  });
});

/** It belongs to a table above once it is read right. */
it.fails('an event, not read right yet: a subject beside a named target is not its ID', async () => {
  const toRecord = (index: number) => ({
    ...plain(index),
    target: { name: 'Production' },
    subject: { id: `s${index}` },
  });
  expect(await readPage(toRecord)).toMatchObject({
    target: { identifier: null, name: 'Production' },
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
      [{ http: { response: { status_code: 403 } } }, { http: { response: { status_code: 200 } } }],
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

describe('an event of a record with many members', () => {
  const many = (count: number, toName: (at: number) => string, value: unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [toName(index), value]));

  it.each<readonly [string, (index: number) => object]>([
    [
      'is read behind 900 that are null',
      (index) => ({ ...many(900, (at) => `metric${at}`, null), ...plain(index) }),
    ],
    [
      'is read behind 900 of its own, with names of an event',
      (index) => ({ ...many(900, (at) => `eventId${index}_${at}`, `x${index}`), ...plain(index) }),
    ],
    [
      'is read before 3,000 of its own',
      (index) => ({ ...plain(index), ...many(3000, (at) => `userName${index}_${at}`, 'x') }),
    ],
    [
      'is read behind a member with 900 objects without a value',
      (index) => ({ details: many(900, (at) => `a${at}`, { b: null, c: {} }), ...plain(index) }),
    ],
  ])('%s', async (_, toRecord) => {
    expect(await readPage(toRecord)).toMatchObject(PLAIN);
  });
});
