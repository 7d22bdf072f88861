import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { Kind, parse, visit } from 'graphql';
import { describe, expect, it } from 'vitest';
import { createSchema } from '../../../src/gateway/create-schema.ts';
import { printSubgraph } from '../../../src/gateway/schema/federation.ts';
import { ask, codeOf, gatewayOver } from '../../helpers/gateway.ts';
import { startService } from '../../helpers/service.ts';

const FILE = readFileSync(new URL('../../../schema.graphql', import.meta.url), 'utf8');

const SPECIFICATION = 'https://scalars.graphql.org/andimarek/date-time.html';

const twoDigits = (number: number) => String(number).padStart(2, '0');

describe('schema.graphql', () => {
  it('is what the code prints', () => {
    expect(printSubgraph(createSchema())).toBe(FILE);
  });

  it('describes every element, and says of every nullable field or of its type what null means', () => {
    const silent: string[] = [];
    const check = (node: {
      name: { value: string };
      description?: { value: string } | undefined;
    }) => {
      if (!node.description?.value) silent.push(node.name.value);
    };
    visit(parse(FILE), {
      ObjectTypeDefinition: (type) => {
        check(type);
        for (const field of type.fields ?? []) {
          const isNullable = field.type.kind !== Kind.NON_NULL_TYPE;
          const descriptions = `${field.description?.value} ${type.description?.value}`;
          if (isNullable && !/null/i.test(descriptions)) silent.push(field.name.value);
        }
      },
      InputObjectTypeDefinition: check,
      EnumTypeDefinition: check,
      ScalarTypeDefinition: check,
      EnumValueDefinition: check,
      InputValueDefinition: check,
      FieldDefinition: check,
    });
    expect(silent).toEqual([]);
  });

  it('has its federation directives and @oneOf, and no field that only routers use', () => {
    expect(FILE).toContain('extend schema @link(url: "https://specs.apollo.dev/federation/v2.6"');
    expect(FILE).toContain('type ApiKey @key(fields: "clientId")');
    expect(FILE).toContain('type PageInfo @shareable');
    expect(FILE).toContain('input LoginCredential @oneOf');
    expect(FILE).toContain('\n\ndirective @oneOf on INPUT_OBJECT\n'); // Apollo's composer rejects it otherwise
    expect(FILE).not.toMatch(/_service|_entities|_Any|_Entity/);
  });
});

describe('introspection', () => {
  it('lists the own fields before those of federation', async () => {
    await using gateway = gatewayOver('http://127.0.0.1:9');
    const { data } = await ask(gateway, '{ __schema { queryType { fields { name } } } }');
    expect(data).toEqual({
      __schema: {
        queryType: { fields: [{ name: 'audit' }, { name: '_entities' }, { name: '_service' }] },
      },
    });
  });
});

describe('DateTime', () => {
  it('names its specification in the schema and in introspection', async () => {
    await using gateway = gatewayOver('http://127.0.0.1:9');
    const { data } = await ask(gateway, '{ __type(name: "DateTime") { specifiedByURL } }');
    expect(data).toEqual({ __type: { specifiedByURL: SPECIFICATION } });
    expect(FILE).toContain(`scalar DateTime @specifiedBy(url: "${SPECIFICATION}")`);
  });

  it('accepts every text of its specification, and returns the one of that instant in UTC', async () => {
    const instant = fc.date({
      min: new Date('0002-01-02T00:00:00Z'), // in no zone in the year 1
      max: new Date('9999-12-30T23:59:59.999Z'),
      noInvalidDate: true,
    });
    const offset = fc.oneof(
      fc.constantFrom('Z', 'z', '+00:00'),
      fc
        .tuple(fc.constantFrom('+', '-'), fc.nat(23), fc.nat(59))
        .map(([sign, hours, minutes]) => `${sign}${twoDigits(hours)}:${twoDigits(minutes)}`)
        .filter((text) => text !== '-00:00'), // the specification excludes it
    );
    let at = '';
    await using service = await startService(() => ({ body: [{ at }] }));
    await using gateway = gatewayOver(service.url, {
      contract: { audit: { event: { occurredAt: '/at' } } },
    });
    const query = 'query ($at: DateTime!) { audit(filter: {since: $at}) { nodes { occurredAt } } }';
    const property = fc.asyncProperty(
      ...[instant, offset, fc.constantFrom('T', 't')],
      async (date, zone, divider) => {
        const [sign, hours = 0, minutes = 0] = zone.split(/(?<=[+-])|:/);
        const millis = Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes)) * 60_000;
        const local = new Date(date.getTime() + (millis || 0)).toISOString();
        at = `${local.slice(0, -1).replace('T', divider)}${zone}`;
        const { data } = await ask(gateway, query, { at }, { token: 't' });
        expect(data).toEqual({ audit: { nodes: [{ occurredAt: date.toISOString() }] } });
      },
    );
    await fc.assert(property, {
      examples: [[new Date('2011-08-30T13:22:53.108Z'), '-03:00', 'T']],
    });
  });
});

describe('the subgraph', () => {
  it('serves the same schema to composers', async () => {
    await using gateway = gatewayOver('http://127.0.0.1:9');
    const { data } = await ask(gateway, '{ _service { sdl } }');
    expect(data).toEqual({ _service: { sdl: FILE } });
  });

  const ENTITIES = `query ($keys: [_Any!]!) {
    _entities(representations: $keys) {
      ... on ApiKey { clientId audit(first: 2) { totalCount nodes { id } } }
    }
  }`;

  it('resolves fifty keys and their trails with one read', async () => {
    const body = Array.from({ length: 200 }, (_, index) => ({
      id: index,
      actor: { id: `key-${index % 50}` },
      target: { id: `key-${(index + 1) % 50}` },
    }));
    await using service = await startService({ body });
    await using gateway = gatewayOver(service.url);
    const keys = Array.from({ length: 50 }, (_, index) => ({
      __typename: 'ApiKey',
      clientId: `key-${index}`,
    }));
    const { data } = await ask<{ _entities: { clientId: string }[] }, object>(
      gateway,
      ENTITIES,
      { keys },
      { token: 't' },
    );
    expect(service.seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /api/v1/audit',
    ]);
    expect(data?._entities).toHaveLength(50);
    expect(data?._entities[7]).toEqual({
      clientId: 'key-7',
      audit: { totalCount: 8, nodes: [{ id: '6' }, { id: '7' }] },
    });
  });

  it.each([
    { __typename: 'ApiKey' },
    { __typename: 'ApiKey', clientId: true },
    { __typename: 'ApiKey', clientId: null },
  ])('rejects the representation %j', async (representation) => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url);
    const result = await ask(gateway, ENTITIES, { keys: [representation] }, { token: 't' });
    expect(codeOf(result)).toBe('BAD_USER_INPUT');
    expect(service.seen).toHaveLength(0);
  });

  it('resolves the others if it rejects one representation, and says which', async () => {
    await using gateway = gatewayOver('http://127.0.0.1:9');
    const keys = [
      { __typename: 'ApiKey', clientId: 7 },
      { __typename: 'ApiKey' },
      { __typename: 'Nope' },
    ];
    const query =
      'query ($keys: [_Any!]!) { _entities(representations: $keys) { ... on ApiKey { clientId } } }';
    const { data, errors } = await ask(gateway, query, { keys });
    expect(data).toEqual({ _entities: [{ clientId: '7' }, null, null] });
    expect(errors?.map(({ path }) => path)).toEqual([
      ['_entities', 1],
      ['_entities', 2],
    ]);
  });

  it.each([
    ['2000 fields', 250, ''],
    ['no more, under whatever names and aliases,', 251, 'OPERATION_TOO_COMPLEX'],
  ])('accepts %s of entities in one request', async (_, length, code) => {
    await using gateway = gatewayOver('http://127.0.0.1:9');
    const query = `query ($keys: [_Any!]!) {
        a: _entities(representations: $keys) { __typename ...K ... on ApiKey { __typename clientId } }
        b: _entities(representations: $keys) { __typename ...K ... on ApiKey { __typename clientId } }
      }
      fragment K on ApiKey { one: clientId two: clientId }`;
    const keys = Array.from({ length }, (_, n) => ({ __typename: 'ApiKey', clientId: n }));
    const result = await ask(gateway, query, { keys });
    expect(codeOf(result)).toBe(code);
    expect(result.errors?.length ?? 0).toBeLessThan(2);
    expect(result.text.length > 10_000).toBe(code === '');
  });

  it('rejects a representation of an unknown type', async () => {
    await using gateway = gatewayOver('http://127.0.0.1:9');
    const keys = [{ __typename: 'Nope', clientId: 'k' }];
    expect(codeOf(await ask(gateway, ENTITIES, { keys }, { token: 't' }))).toBe('BAD_USER_INPUT');
  });
});

describe('one request', () => {
  it('reads each page of the trail once, however many fields need it', async () => {
    await using service = await startService({ body: [{ id: 1 }] });
    await using gateway = gatewayOver(service.url);
    const parameters = '[{name: "a", value: "b"}]';
    const query = `{ a: audit { totalCount } b: audit(first: 1) { nodes { raw } }
      c: audit(parameters: ${parameters}) { totalCount } d: audit(parameters: ${parameters}) { raw } }`;
    const { errors } = await ask(gateway, query, {}, { token: 't' });
    expect(errors).toBeUndefined();
    expect(service.seen.map(({ url }) => url).sort()).toEqual([
      '/api/v1/audit',
      '/api/v1/audit?a=b',
    ]);
  });

  it('shares nothing with another request', async () => {
    await using service = await startService(({ method }) =>
      method === 'GET' ? { body: [] } : {},
    );
    await using gateway = gatewayOver(service.url);
    const query = 'mutation { deleteApiKey(clientId: "k") { apiKey { audit { totalCount } } } }';
    await ask(gateway, query, {}, { token: 't' });
    await ask(gateway, query, {}, { token: 't' });
    await ask(gateway, '{ audit { totalCount } }', {}, { token: 't' });
    expect(service.seen.map(({ method }) => method)).toEqual([
      'DELETE',
      'GET',
      'DELETE',
      'GET',
      'GET',
    ]);
  });

  it('keeps the data of other fields when one fails', async () => {
    await using service = await startService(({ url }) =>
      url.includes('bad') ? { status: 403 } : { body: [] },
    );
    await using gateway = gatewayOver(service.url);
    const { data, errors } = await ask(
      gateway,
      '{ good: audit { totalCount } bad: audit(parameters: [{name: "bad", value: "1"}]) { totalCount } }',
      {},
      { token: 't' },
    );
    expect(data).toEqual({ good: { totalCount: 0 }, bad: null });
    expect(errors).toMatchObject([{ path: ['bad'], extensions: { code: 'FORBIDDEN' } }]);
  });
});
