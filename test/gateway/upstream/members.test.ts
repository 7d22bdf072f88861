import { describe, expect, it } from 'vitest';
import { cutJson } from '../../../src/gateway/upstream/json-pieces.ts';
import { ask, codeOf, gatewayOver } from '../../helpers/gateway.ts';
import { startService } from '../../helpers/service.ts';
import { samplesOf } from '../../shapes/shapes.ts';

const READ = '{ audit(first: 2) { totalCount nodes { id action } pageInfo { endCursor } } }';
const LOGIN =
  'mutation { login(clientId: "a", credential: { clientSecret: "b" }) { accessToken } }';
const DELETE = 'mutation { deleteApiKey(clientId: "a") { outcome } }';

/** Members with names of their own. */
const members = (count: number, value = 'null') =>
  Array.from({ length: count }, (_, index) => `"name${index}":${value}`).join();
/** The same, so long that 20,000 are more than 1 MiB. */
const longMembers = (count: number, value?: string) =>
  members(count, value).replaceAll(
    'name',
    'a_name_that_is_as_long_as_those_of_a_service_that_joins_them_',
  );
const recordOf = (id: string, more = '') =>
  `{"id":"${id}","action":"key.created","at":"2026-01-01T00:00:00Z"${more}}`;
const RECORD = recordOf('e1');
const NODE = { id: 'e1', action: 'key.created' };

/** A gateway in front of a service that sends this body, and a small one to the token `small`. */
async function startGateway(body: string) {
  const service = await startService(({ headers }) => ({
    body: headers.authorization === 'Bearer small' ? `[${RECORD}]` : body,
  }));
  const gateway = gatewayOver(service.url, { upstream: { maxBytes: 2 ** 25, timeoutMs: 60_000 } });
  return {
    ask: (query: string, token = 't') =>
      ask<{ audit: unknown }, never>(gateway, query, undefined, { token }),
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

describe('a response with more than 20,000 members of an object, or a million that are parsed at once', () => {
  it.each([
    ['of one record', `{"events":[${RECORD.slice(0, -1)},${longMembers(20_001)}}]}`],
    ['beside the list', `{"events":[${RECORD}],${longMembers(20_001)}}`],
    [
      'in objects beside the list',
      `{"events":[${RECORD}],${Array.from({ length: 51 }, (_, id) => `"${id}":{${members(20_000)}}`)}}`,
    ],
    [
      'in objects of a record',
      `[${recordOf('e1', `,"all":[${Array(51).fill(`{${members(20_000)}}`)}]`)}]`,
    ],
    [
      'in no list',
      `{"events":{${Array.from({ length: 51 }, (_, id) => `"${id}":{${members(20_000)}}`)}}}`,
    ],
    ['of records by ID', `{"events":{${longMembers(20_001, '{"at":1}')}}}`],
  ])('is UPSTREAM_BAD_RESPONSE, TOO_LARGE: %s', async (_, body) => {
    await using gateway = await startGateway(body);
    const { errors } = await gateway.ask(READ);
    expect(errors).toMatchObject([
      { extensions: { code: 'UPSTREAM_BAD_RESPONSE', reason: 'TOO_LARGE' } },
    ]);
    expect(errors?.[0]?.message).toContain('too many members of objects');
    expect(await gateway.ask(READ, 'small')).toMatchObject({ data: { audit: { nodes: [NODE] } } });
  });

  it.each([LOGIN, DELETE])('is OUTCOME_UNKNOWN, TOO_LARGE: %s', async (mutation) => {
    await using gateway = await startGateway(`{"access_token":"t",${longMembers(20_001)}}`);
    const { errors } = await gateway.ask(mutation);
    expect(errors).toMatchObject([
      { extensions: { code: 'OUTCOME_UNKNOWN', reason: 'TOO_LARGE' } },
    ]);
  });
});

describe('a response with fewer members of objects', () => {
  const many = longMembers(19_990);
  it.each([
    ['of one record', `{"events":[${RECORD.slice(0, -1)},${many}}]}`, 1],
    ['of one record, before the others', `[{${many},${RECORD.slice(1)},${recordOf('e2')}]`, null],
    ['beside the list', `{"events":[${RECORD}],${many}}`, 1],
    ['empty objects', `{"events":[${recordOf('e1', `,"x":{${longMembers(19_990, '{}')}}`)}]}`, 1],
    [
      'each in an object of a record',
      `{"events":[${recordOf('e1', `,"x":{${longMembers(19_990, '{"a":null}')}}`)}]}`,
      1,
    ],
    [
      'of each record, 1.8 million in all',
      `{"events":[${Array.from({ length: 90 }, (_, id) => recordOf(`e${id + 1}`, `,${members(19_990, '1')}`))}]}`,
      90,
    ],
    [
      'of 20,000 records by ID',
      `{"events":{${Array.from({ length: 20_000 }, (_, id) => `"e${id + 1}":${recordOf(`e${id + 1}`)}`)}}}`,
      20_000,
    ],
  ])('is read: %s', async (_, body, count) => {
    await using gateway = await startGateway(body);
    const { data, errors } = await gateway.ask(READ);
    expect(errors).toBeUndefined();
    if (count === null) expect(data).toMatchObject({ audit: { nodes: [{}, { id: 'e2' }] } });
    else expect(data).toMatchObject({ audit: { nodes: [NODE, ...(count > 1 ? [{}] : [])] } });
  });

  it.each([
    [LOGIN, { login: { accessToken: 't' } }],
    [DELETE, { deleteApiKey: { outcome: 'DELETED' } }],
  ])('is read: %s', async (mutation, expected) => {
    await using gateway = await startGateway(`{"access_token":"t","ok":true,${many}}`);
    expect(await gateway.ask(mutation)).toMatchObject({ data: expected });
  });
});

it('an ordinary read is served beside eight of them', async () => {
  const objects = Array.from({ length: 24 }, (_, id) => `"${id}":{${members(19_990, '{"a":1}')}}`);
  await using gateway = await startGateway(`{"events":[${RECORD}],${objects}}`);
  await gateway.ask(READ, 'small');
  let done = 0;
  const large = Array.from({ length: 8 }, async (_, index) => {
    const { errors } = await gateway.ask(READ, `large-${index}`);
    done += 1;
    return errors;
  });
  const { data } = await gateway.ask(READ, 'small');
  expect(done).toBeLessThan(8);
  expect(data).toMatchObject({ audit: { nodes: [NODE] } });
  expect(await Promise.all(large)).toEqual(Array(8).fill(undefined));
}, 60_000);

describe('5,000 records of a sample', () => {
  const samples = samplesOf('audit').flatMap(({ name, response: { body } }) => {
    const list = longestList(body);
    return list === null ? [] : [{ name, body, list }];
  });
  const repeat = ({ body, list }: (typeof samples)[number]) => {
    const items = Array.from({ length: 5000 }, (_, index) => list[index % list.length]);
    return JSON.stringify(body).replace(JSON.stringify(list), () => JSON.stringify(items));
  };

  it('have fewer members and items than the bounds', async () => {
    for (const sample of samples)
      expect(await cutJson(Buffer.from(repeat(sample))), sample.name).not.toBe('TOO_MANY');
    expect(samples.length).toBeGreaterThan(100);
  }, 60_000);

  it('are read: those of the widest', async () => {
    const lengthOf = ({ list }: (typeof samples)[number]) =>
      JSON.stringify(list).length / list.length;
    const [widest] = samples.toSorted((a, b) => lengthOf(b) - lengthOf(a));
    await using gateway = await startGateway(widest === undefined ? '' : repeat(widest));
    expect(codeOf(await gateway.ask(READ))).toBe('');
  }, 60_000);
});

/** The longest list of objects in a value, as JSON. */
function longestList(value: unknown): readonly unknown[] | null {
  if (typeof value !== 'object' || value === null) return null;
  const own = Array.isArray(value) && typeof value[0] === 'object' ? [value] : [];
  const lists = [...own, ...Object.values(value).map(longestList)].filter((list) => list !== null);
  const lengthOf = (list: unknown) => JSON.stringify(list).length;
  return lists.toSorted((a, b) => lengthOf(b) - lengthOf(a))[0] ?? null;
}
