import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { ExplainedEntry, Explanation } from '../../../src/client/explanation.ts';
import {
  AuditDocument,
  DeleteApiKeyDocument,
  LoginDocument,
} from '../../../src/client/operations.generated.ts';
import type { Gateway } from '../../../src/gateway/http/gateway-type.ts';
import { EVENT_ENTRIES } from '../../../src/gateway/inference/event-entries.ts';
import type { ConfiguredContract } from '../../../src/gateway/mapping/contract.ts';
import { interpretPointer } from '../../../src/gateway/mapping/json-pointer.ts';
import { createExplanation } from '../../../src/gateway/schema/explain.ts';
import { parseBearer } from '../../../src/gateway/upstream/bearer.ts';
import { createRestClient } from '../../../src/gateway/upstream/http-client.ts';
import { path } from '../../../src/gateway/upstream/path.ts';
import { NO_TRACE } from '../../../src/gateway/upstream/types.ts';
import { CANARY, expectNoCanary, withCanaries } from '../../helpers/canary.ts';
import { ask, gatewayOver, type Overrides, onPort } from '../../helpers/gateway.ts';
import { type Handler, type ServiceResponse, startService } from '../../helpers/service.ts';
import { samplesOf } from '../../shapes/shapes.ts';

const EXPLAIN = { 'x-keytrail-explain': '1' };

type Asked = { readonly token?: string; readonly headers?: Readonly<Record<string, string>> };

/** Sends an operation with the header, and returns its explanation. */
async function explain(
  gateway: Pick<Gateway, 'fetch'>,
  query: string | object,
  variables: object = {},
  { token = 't', headers }: Asked = {},
): Promise<Explanation> {
  const result = await ask(gateway, String(query), variables, {
    token,
    headers: { ...EXPLAIN, ...headers },
  });
  return JSON.parse(result.text).extensions.explain;
}

const AUDIT = '{ audit { nodes { id } } }';
const EVENTS = [1, 2].map((id) => ({ id: `e${id}`, action: 'key.create', actor: { id: 'u1' } }));

/** A contract that names every query parameter. */
const NAMED: ConfiguredContract = {
  audit: {
    parameters: { since: 'from', until: 'to', actor: 'who', action: 'what' },
    paging: { style: 'cursor', next: '/next', parameter: 'cursor', size: 'limit' },
  },
};

const run = promisify(execFile);

describe('the calls of a request', () => {
  it('are listed with status, attempts and size, and only if the header asks for them', async () => {
    await using service = await startService({ body: EVENTS });
    await using gateway = gatewayOver(service.url);
    const { calls } = await explain(gateway, AUDIT);
    expect(calls).toEqual([
      {
        ...{ field: 'audit', method: 'GET', path: '/api/v1/audit', attempts: 1, status: 200 },
        ms: expect.any(Number),
        bytes: JSON.stringify(EVENTS).length,
        curl: `curl -g -H "Authorization: Bearer $TOKEN" -H 'Accept: application/json' '${service.url}/api/v1/audit'`,
      },
    ]);
    for (const headers of [{}, { 'x-keytrail-explain': '0' }, { 'x-keytrail-explain': 'true' }])
      expect((await ask(gateway, AUDIT, {}, { token: 't', headers })).text).not.toContain(
        'explain',
      );
  });

  it('have the status of the last of their attempts', async () => {
    let requests = 0;
    await using service = await startService(() => {
      requests += 1;
      return requests === 1 ? { status: 503 } : { body: EVENTS };
    });
    await using gateway = gatewayOver(service.url);
    const { calls } = await explain(gateway, AUDIT);
    expect(calls).toMatchObject([{ attempts: 2, status: 200 }]);
  });

  it('have the field of the schema that needed them, whatever its alias, and no body', async () => {
    await using service = await startService({ body: { access_token: 'a' } });
    await using gateway = gatewayOver(service.url);
    const login = await explain(gateway, LoginDocument, {
      ...{ clientId: 'c', credential: { clientSecret: 's' } },
    });
    expect(login.calls).toMatchObject([
      { field: 'login', method: 'POST', path: '/api/v1/auth/login', status: 200 },
    ]);
    const deletion = await explain(gateway, DeleteApiKeyDocument, { clientId: 'c' });
    expect(deletion.calls).toMatchObject([
      { field: 'deleteApiKey', method: 'DELETE', path: '/api/v1/secrets/$PARAMETER' },
    ]);
    expect(JSON.stringify([login, deletion])).not.toContain('curl');
    await using trail = await startService({ body: EVENTS });
    await using other = gatewayOver(trail.url);
    const entities = `{ _entities(representations: [{__typename: "ApiKey", clientId: "u1"}]) {
      ... on ApiKey { other: audit { nodes { id } } } } }`;
    expect((await explain(other, entities)).calls).toMatchObject([{ field: 'audit' }]);
  });

  it('count once for fields that share them, and as one request for the bound of bytes', async () => {
    const page = (next: string | null) => ({ records: EVENTS, next, filler: 'x'.repeat(2000) });
    await using service = await startService(({ url }) => ({
      body: page(url.includes('cursor') ? null : 'c1'),
    }));
    const upstream = { maxBytesPerRequest: 3000 };
    await using gateway = gatewayOver(service.url, { contract: NAMED, upstream });
    const shared = await explain(
      gateway,
      '{ a: audit(first: 1) { nodes { id } } b: audit(first: 1) { nodes { id } } }',
    );
    expect(shared.calls).toHaveLength(1);
    const { text } = await ask(
      gateway,
      '{ audit(first: 9) { nodes { id } } }',
      {},
      {
        ...{ token: 't', headers: EXPLAIN },
      },
    );
    expect(JSON.parse(text)).toMatchObject({
      errors: [{ extensions: { code: 'OPERATION_TOO_COMPLEX' } }],
      extensions: { explain: { calls: [{ status: 200 }, { attempts: 1 }] } },
    });
  });
});

describe('a call that was not sent', () => {
  const failing: Handler = (_, response) => void response.destroy();
  const unsentOf = ({ calls }: Explanation) =>
    calls.map(({ field, sent, why }) => [field, sent, why]);

  it('says that there is no token', async () => {
    await using service = await startService({ body: EVENTS });
    await using gateway = gatewayOver(service.url);
    const headers = { authorization: 'Basic canary' };
    for (const query of [
      '{ a: audit { nodes { id } } }',
      'mutation { b: deleteApiKey(clientId: "c") { outcome } }',
    ])
      expect(unsentOf(await explain(gateway, query, {}, { headers }))).toEqual([
        [
          query.includes('audit') ? 'audit' : 'deleteApiKey',
          false,
          expect.stringContaining('not a bearer token'),
        ],
      ]);
    expect(service.seen).toEqual([]);
  });

  it('says that the circuit breaker is open', async () => {
    await using service = await startService(failing);
    await using gateway = gatewayOver(service.url);
    for (let reads = 0; reads < 20; reads += 1) {
      const { calls } = await explain(gateway, AUDIT);
      expect(calls[0]).not.toHaveProperty('sent');
      expect(calls[0]?.why).toContain('could not be reached');
    }
    const before = service.seen.length;
    expect(unsentOf(await explain(gateway, AUDIT))).toEqual([
      ['audit', false, expect.stringContaining('failed repeatedly')],
    ]);
    expect(service.seen).toHaveLength(before);
  });

  it('says that a limit of the gateway was reached, or the input is wrong', async () => {
    await using service = await startService({ body: { access_token: 'a' } });
    await using gateway = gatewayOver(service.url, { loginRateLimit: 1, trustedProxies: 1 });
    const variables = { clientId: 'c', credential: { clientSecret: 's' } };
    const headers = { 'x-forwarded-for': '192.0.2.1' };
    const login = () => explain(gateway, LoginDocument, variables, { headers });
    expect((await login()).calls[0]).not.toHaveProperty('sent');
    expect(unsentOf(await login())).toEqual([
      ['login', false, expect.stringContaining('Too many')],
    ]);
    const deletion = await explain(gateway, DeleteApiKeyDocument, { clientId: '..' });
    expect(unsentOf(deletion)).toEqual([
      ['deleteApiKey', false, expect.stringContaining('cannot be sent in a path')],
    ]);
    expect(service.seen).toHaveLength(1);
  });

  it('says that no connection was made', async () => {
    const service = await startService({ body: EVENTS });
    await service[Symbol.asyncDispose]();
    await using gateway = gatewayOver(service.url);
    const { calls } = await explain(gateway, AUDIT);
    expect(calls).toMatchObject([
      { attempts: 2, sent: false, why: expect.stringContaining('UPSTREAM_URL') },
    ]);
  });

  it('is none if the document is invalid', async () => {
    await using service = await startService({ body: EVENTS });
    await using gateway = gatewayOver(service.url);
    for (const query of ['{ nope }', '{'])
      expect(await explain(gateway, query)).toEqual({ calls: [] });
  });
});

describe('a value of the client', () => {
  it('is a variable, and the curl lines with these variables give the same responses', async () => {
    await using service = await startService(({ url }) => ({
      body: { url, next: url.includes('cursor') ? null : "c'1 &?[1-3]", records: EVENTS },
    }));
    await using gateway = gatewayOver(`${service.url}/it's$HOME[1-2]`, { contract: NAMED });
    const parameters = [
      { name: "a'b", value: '$(touch x)' },
      { name: 'a', value: '[1-9]' },
      { name: 'limit', value: '7' },
    ];
    const filter = { actor: 'Ann & "Bob"', actions: ['k'], target: 't' };
    const { calls } = await explain(gateway, AuditDocument, { first: 9, filter, parameters });
    const query = '$PARAMETER&$PARAMETER_2&$PARAMETER_3&who=$PARAMETER_4&what=$PARAMETER_5';
    expect(calls.map(({ path }) => path)).toEqual([
      `/api/v1/audit?${query}`,
      `/api/v1/audit?${query}&cursor=$CURSOR`,
    ]);
    const [first, second] = service.seen.map(({ url }) => url);
    const env = {
      ...{ TOKEN: 't', CURSOR: encodeURIComponent("c'1 &?[1-3]") },
      ...{ PARAMETER: "a'b=%24(touch%20x)", PARAMETER_2: 'a=%5B1-9%5D', PARAMETER_3: 'limit=7' },
      ...{ PARAMETER_4: encodeURIComponent(filter.actor), PARAMETER_5: 'k' },
    };
    for (const [index, { curl = '' }] of calls.entries()) {
      const { stdout } = await run('sh', ['-c', `${curl} -sS`], {
        env: { PATH: '/usr/bin:/bin', ...env },
      });
      expect(JSON.parse(stdout).url).toBe(index === 0 ? first : second);
      expect(service.seen.at(-1)?.headers).toMatchObject({
        ...{ authorization: 'Bearer t', accept: 'application/json' },
      });
    }
  });

  it('is not shown if it is a cursor with a name of its own, or the link of a page', async () => {
    await using service = await startService(({ url }) => ({
      body: {
        records: EVENTS,
        ...(!url.includes('canary') && { next: '/api/v1/audit?canary=canary[1]' }),
      },
    }));
    await using gateway = gatewayOver(service.url);
    const document = '{ audit(first: 9, parameters: [{name: "x", value: "y"}]) { nodes { id } } }';
    const { calls } = await explain(gateway, document);
    expect(calls.map(({ path }) => path)).toEqual([
      ...['/api/v1/audit?$PARAMETER', '/api/v1/audit?$CURSOR'],
    ]);
    const env = { PATH: '/usr/bin:/bin', TOKEN: 't', CURSOR: 'canary=canary[1]' };
    await run('sh', ['-c', `${calls[1]?.curl} -sS`], { env });
    expect(service.seen.map(({ url }) => url).slice(1)).toEqual(
      Array(2).fill('/api/v1/audit?canary=canary[1]'),
    );
    await using named = gatewayOver(service.url, { contract: NAMED });
    const position = JSON.stringify(['f', 0, 2, 'canary-name', 'canary-value']);
    const after = `1.${Buffer.from(position).toString('base64url')}`;
    const crafted = await explain(named, AuditDocument, { after });
    expect(crafted.calls.map(({ path }) => path)).toContain('/api/v1/audit?limit=100&$CURSOR');
    expectNoCanary(JSON.stringify(crafted));
  });
});

/** A canary in every slot of the client, with fields that are found, and fields that are not. */
const DOCUMENT = `query canary_operation($canary_variable: String, $pointer: String) {
  canary_alias: audit(first: 9, after: $canary_variable, filter: {actor: "canary", target: "canary", since: "2026-01-01T00:00:00Z"},
    parameters: [{name: "canary_name", value: "canary_value"}, {name: "limit", value: "canary"}]) {
    canary_nodes: nodes { canary_id: id canary_raw: raw(pointer: $pointer) actor { name } }
    canary_more: raw(pointer: "/canary/literal")
  }
}`;

describe('no explanation', () => {
  const record = (index: number) => ({
    ...{ id: `canary-id-${index}`, occurredAt: '2026-11-20T00:00:00Z', action: 'canary-action' },
    ...{ actor: { id: 'canary', name: 'canary-name', type: 'canary-type' }, outcome: 'canary' },
    ...{ ip: 'canary', userAgent: 'canary/1.0', target: { id: 'canary' }, note: 'canary' },
  });
  const responses: readonly ServiceResponse[] = [
    { body: { records: [record(1), record(2)], next: 'canary-cursor', total: 'canary' } },
    { body: { data: [record(1)], links: { next: '/api/v1/audit?canary=canary' } } },
    { body: [record(1)], headers: { link: '</api/v1/audit?canary=1>; rel="next"' } },
    {
      body: {
        access_token: 'canary-a',
        refresh_token: 'canary-r',
        token_type: 'canary',
        expires_in: 9,
      },
    },
    { body: { canary: 'canary' } },
    { body: '{"canary' },
    { body: { error: 'canary', success: false } },
    ...[302, 400, 401, 404, 409, 429, 500, 503].map((status) => ({ status })),
  ];

  it.each([
    ['inferred', {}],
    ['configured', NAMED],
  ])(
    'has a value of the client or the service, with a contract that is %s',
    async (_, contract) => {
      let response: ServiceResponse = {};
      await using service = await startService(() => withCanaries(response));
      await using gateway = gatewayOver(service.url, { contract });
      const { accessToken, clientId, clientSecret, refreshToken } = CANARY;
      const at = (...parts: unknown[]) =>
        `1.${Buffer.from(JSON.stringify(parts)).toString('base64url')}`;
      const cursors = [
        null,
        'canary',
        at('canary', 0, 2),
        at('canary', 0, 'c', 'canary', 'canary'),
        at('c', 0, 1, '?canary=1'),
      ];
      const asked = { token: accessToken, headers: { cookie: 'canary', 'x-request-id': 'canary' } };
      let calls = 0;
      for (response of responses) {
        const explanations = [
          ...(await Promise.all(
            cursors.map((after) =>
              explain(gateway, DOCUMENT, { canary_variable: after, pointer: '/canary' }, asked),
            ),
          )),
          await explain(gateway, DOCUMENT, { pointer: 'canary' }, asked),
          await explain(gateway, '{ canary }', {}, asked),
          await explain(gateway, 'query ($a: canary) { a: audit(first: $a) { raw } }', {}, asked),
          await explain(gateway, LoginDocument, { clientId, credential: { clientSecret } }, asked),
          await explain(gateway, LoginDocument, { clientId, credential: { refreshToken } }, asked),
          await explain(gateway, DeleteApiKeyDocument, { clientId }, asked),
          await explain(gateway, DeleteApiKeyDocument, { clientId: 'canary\u0000' }, asked),
          await explain(gateway, DOCUMENT, {}, { ...asked, token: 'canary canary' }),
        ];
        calls += explanations.flatMap((one) => one.calls).length;
        expectNoCanary(JSON.stringify(explanations));
      }
      expect(calls).toBeGreaterThan(10 * responses.length);
    },
  );
});

/** All entries of a description, by their names: `actor.name`. */
function entriesOf(
  description: object,
  prefix = '',
): readonly (readonly [string, ExplainedEntry])[] {
  return Object.entries(description).flatMap(([name, entry]) =>
    'at' in entry ? [[`${prefix}${name}`, entry] as const] : entriesOf(entry, `${name}.`),
  );
}

/** An entry that inference chose has a confidence and reasons. One that it did not choose may have candidates. */
function expectGrounds(name: string, entry: ExplainedEntry): void {
  const { at, by, why, confidence, because = [], candidates = [] } = entry;
  const isInferred = by === 'inference';
  expect([name, because.length >= 1 && because.length <= 3]).toEqual([name, isInferred]);
  if (confidence === undefined) expect([name, because.length]).toEqual([name, Number(isInferred)]);
  else expect([name, confidence >= 0.7 && confidence <= 1]).toEqual([name, isInferred]);
  const confidences = candidates.map((candidate) => candidate.confidence);
  expect(confidences).toEqual(confidences.toSorted((a, b) => b - a).slice(0, 3));
  const [best] = confidences;
  expect([name, why?.includes('candidate') ?? false]).toEqual([name, best !== undefined]);
  if (best === undefined) return;
  const doubt = best < 0.5 ? 'unlikely' : 'not certain enough';
  const advice = 'add it to the contract if it is right';
  expect([name, at]).toEqual([name, null]);
  const reason =
    best < 0.7
      ? `the best candidate is ${doubt} (${best})`
      : `the caller may have written the best candidate (${best})`;
  expect(why).toBe(`${reason}: ${advice}`);
}

/** Why inference chose a field. */
const GROUNDS = { confidence: expect.any(Number), because: expect.any(Array) };

describe('the mapping of a deletion', () => {
  it.each<readonly [object, ConfiguredContract, object]>([
    [{ body: { deleted: true } }, {}, { at: '/deleted', by: 'inference' }],
    [
      { body: { status: 'gone' } },
      {},
      { at: '/status', by: 'inference', why: 'its value is not understood' },
    ],
    [
      { body: { errors: ['canary x'], code: 'NO' } },
      {},
      { at: ['/errors', '/code'], by: 'inference' },
    ],
    [
      { status: 204 },
      {},
      { at: null, by: 'inference', why: 'nothing else decides than the HTTP status' },
    ],
    [
      { body: { status: 'gone' } },
      { deletion: { outcome: { at: '/status', map: { gone: 'DELETED' } } } },
      { at: '/status', by: 'contract' },
    ],
    [
      { body: { status: 'canary' } },
      { deletion: { outcome: { at: '/status', map: { gone: 'DELETED' } } } },
      { at: '/status', by: 'contract', why: 'the value is no key of the map' },
    ],
    [
      { body: { status: 'failed' } },
      { deletion: { outcome: null } },
      { at: null, by: 'contract', why: 'nothing else decides than the HTTP status' },
    ],
  ])(
    'says what decides its outcome, and no value: %j with %j',
    async (response, contract, outcome) => {
      await using service = await startService(response);
      await using gateway = gatewayOver(service.url, { explain: true, contract });
      const explanation = await explain(gateway, DeleteApiKeyDocument, { clientId: 'c' });
      expect(explanation.mapping).toEqual({ deletion: { outcome } });
      expect(JSON.stringify(explanation)).not.toContain('canary');
    },
  );
});

describe('the mapping of every published shape', () => {
  it.each(samplesOf('audit').map((sample) => [sample.name, sample] as const))(
    'of %s has the pointer and the origin of every field, and a reason for every null',
    async (_, { response, contract }) => {
      await using service = await startService(response);
      for (const configured of contract === null ? [{}] : [{}, contract]) {
        await using gateway = gatewayOver(service.url, { contract: configured });
        const variables = { first: 1000, withRaw: true };
        const { data, errors, text } = await ask(gateway, AuditDocument, variables, {
          ...{ token: 't', headers: EXPLAIN },
        });
        const { mapping }: Explanation = JSON.parse(text).extensions.explain;
        if (data?.audit == null) {
          expect(errors).toHaveLength(1);
          expect(mapping?.records).toHaveProperty('why');
          continue;
        }
        const { nodes } = data.audit;
        const entries = entriesOf(mapping?.event ?? {});
        expect(entries).toHaveLength(EVENT_ENTRIES.length);
        for (const [name, entry] of entries) {
          const { at, by, found, why } = entry;
          expectGrounds(name, entry);
          const values = nodes.map((node) => interpretPointer(`/${name.replace('.', '/')}`)(node));
          const isNull = (value: unknown) => value === null || value === undefined;
          const count = values.filter((value) => !isNull(value)).length;
          expect([name, why !== undefined]).toEqual([name, count < values.length]);
          const [part, ...parts] = name.split('.');
          const given = Object(Object(Object(configured).audit?.event)[part ?? '']);
          const isGiven =
            parts.length === 0
              ? configured.audit?.event?.[part as 'id'] !== undefined
              : given[parts[0] ?? ''] !== undefined;
          if (at === null) {
            expect([name, count, by]).toEqual([name, 0, isGiven ? 'contract' : undefined]);
            continue;
          }
          expect([name, found, by]).toEqual([
            ...[name, `${count} of ${nodes.length}`, isGiven ? 'contract' : 'inference'],
          ]);
          const pointers = [at].flat().map((pointer) => interpretPointer(String(pointer)));
          for (const [index, value] of values.entries()) {
            const sources = pointers.map((read) => read(nodes[index]?.raw) ?? null);
            if (!isNull(value))
              expect([name, sources.every((one) => one === null)]).toEqual([name, false]);
          }
        }
        expect(mapping?.records?.at).toEqual(expect.any(String));
        expect(mapping?.paging?.style).toEqual(expect.any(String));
        if (data.audit.totalCount === null) expect(mapping?.total).toBeDefined();
      }
    },
  );

  it.each(samplesOf('login').map((sample) => [sample.name, sample] as const))(
    'of the login %s has the origin of every field, and a reason for every null',
    async (_, { response, contract }) => {
      await using service = await startService(response);
      await using gateway = gatewayOver(service.url, { contract: contract ?? {} });
      const credential = { clientSecret: 's' };
      const { text } = await ask(
        gateway,
        LoginDocument,
        { clientId: 'c', credential },
        { headers: EXPLAIN },
      );
      const { data, errors, extensions } = JSON.parse(text);
      if (extensions.explain.mapping === undefined)
        return expect(errors[0].extensions.reason).toBe('NOT_JSON');
      const { accessToken, refreshToken, expires } = extensions.explain.mapping.login;
      expect(Object.keys(extensions.explain.mapping.login)).toHaveLength(4);
      expect(accessToken.at === null).toBe(data.login === null);
      expect(refreshToken.at === null || data.login === null).toBe(
        (data.login?.refreshToken ?? null) === null,
      );
      for (const entry of [accessToken, refreshToken, expires])
        expect(Object.keys(entry)).toContain(entry.at === null ? 'why' : 'by');
    },
  );

  it('says that there are no records, or that they are on a later page, and reads the whole of a large response', async () => {
    const event = { ...EVENTS[0], time: '2026-11-20T00:00:00Z' };
    const large = { events: Array(4000).fill(event), total: 9000 };
    const more = { more: '/more', style: 'cursor', next: '/next', parameter: 'c' } as const;
    let body: unknown = { note: 'x' };
    await using service = await startService(({ url }) => {
      const text = JSON.stringify(url.includes('?c=') ? { records: EVENTS } : body);
      return { headers: { 'content-length': String(text.length) }, body: text };
    });
    await using gateway = gatewayOver(service.url, { contract: { audit: { paging: more } } });
    const without = await explain(gateway, AUDIT);
    const why = 'no list of records was found, or several';
    expect(without.mapping?.records).toEqual({ at: null, why });
    expect(without.calls[0]).not.toHaveProperty('why');
    body = { records: [], next: 'n', more: true };
    const { mapping } = await explain(gateway, AUDIT);
    const found = { by: 'inference', found: '2 of 2', ...GROUNDS };
    expect(mapping?.event?.action).toEqual({ at: '/action', ...found });
    body = large;
    const explained = await explain(gateway, AUDIT);
    expect(explained.calls[0]?.bytes).toBe(JSON.stringify(large).length);
    expect(explained.mapping?.total).toEqual({ at: '/total', by: 'inference' });
  });

  it('says which values are not understood, and where the contract is wrong', async () => {
    const body = [
      { id: 1, at: 'yesterday', result: 'perhaps', actor: { id: 'u' } },
      { id: 2, at: '2026-11-20T00:00:00Z', result: 'success', actor: { id: 'v' } },
    ];
    await using service = await startService({ body });
    const contract: ConfiguredContract = {
      audit: {
        event: {
          occurredAt: { at: '/at', as: 'iso8601' },
          action: '/nowhere',
          outcome: '/result',
          userAgent: null,
        },
      },
    };
    await using gateway = gatewayOver(service.url, { contract });
    const { mapping } = await explain(gateway, AUDIT);
    const { occurredAt, action, outcome, userAgent, actor } = mapping?.event ?? {};
    const unread = {
      by: 'contract',
      found: '1 of 2',
      why: 'its values are not understood',
    };
    expect(occurredAt).toEqual({ at: '/at', as: 'iso8601', ...unread });
    expect(outcome).toEqual({ at: '/result', ...unread });
    const nowhere = 'the pointer in the contract leads to no value';
    expect(action).toEqual({ at: '/nowhere', by: 'contract', found: '0 of 2', why: nowhere });
    expect(userAgent).toEqual({
      at: null,
      by: 'contract',
      why: 'the contract says that there is none',
    });
    const both = { by: 'inference', found: '2 of 2', ...GROUNDS };
    expect(actor?.identifier).toEqual({ at: '/actor/id', ...both });
    expect(actor?.name).toEqual({ at: null, why: 'no field next to the others has its name' });
    expect(mapping?.paging).toEqual({ style: 'none', at: [], by: 'inference' });
  });
});

it('names the field that records have for an entry that is null in the contract', async () => {
  const body = [
    { id: 1, time: '2026-11-20T00:00:00Z', action: 'login', client: { ip: '203.0.113.9' } },
    { id: 2, time: '2026-11-20T00:00:00Z', action: 'login', client: { ip: '203.0.113.7' } },
  ];
  await using service = await startService({ body });
  const contract = { audit: { event: { ipAddress: null, userAgent: null } } };
  await using gateway = gatewayOver(service.url, { contract });
  const { mapping } = await explain(gateway, AUDIT);
  const { ipAddress, userAgent } = mapping?.event ?? {};
  expect(ipAddress).toEqual({
    ...{ at: null, by: 'contract' },
    why: 'the contract says that there is none, but the records have a field for it: remove the entry, or let it name the field',
    candidates: [{ at: '/client/ip' }],
  });
  expect(userAgent).toEqual({
    ...{ at: null, by: 'contract' },
    why: 'the contract says that there is none',
  });
});

it('the filter lists what the service checks, and what only the gateway does', async () => {
  await using service = await startService({ body: { records: EVENTS } });
  await using gateway = gatewayOver(service.url, { contract: NAMED });
  const filter = { since: '2026-01-01T00:00:00Z', actor: 'u', target: null, actions: ['a', 'b'] };
  const parameters = [{ name: 'who', value: 'x' }];
  const both = await explain(gateway, AuditDocument, {
    filter: { ...filter, since: null, actor: 'a' },
  });
  expect(both.filter).toEqual({ forwarded: ['actor'], checkedByGateway: ['actions'] });
  const own = await explain(gateway, AuditDocument, { filter: { actor: 'a' }, parameters });
  expect(own.filter).toEqual({ forwarded: [], checkedByGateway: ['actor'] });
  expect(await explain(gateway, AuditDocument)).not.toHaveProperty('filter');
});

describe('with EXPLAIN off', () => {
  it('a response with the header is the same, byte for byte, on the fast path too', async () => {
    await using service = await startService({ body: EVENTS });
    const answers = async (overrides: Overrides, headers: Readonly<Record<string, string>>) => {
      await using gateway = gatewayOver(service.url, { createId: () => 'r', ...overrides });
      await using server = await onPort(gateway);
      const texts: unknown[] = [];
      for (let times = 0; times < 3; times += 1) {
        const response = await fetch(`${server.url}/graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: 'Bearer t', ...headers },
          body: JSON.stringify({ query: AUDIT }),
        });
        const { date: _, ...rest } = Object.fromEntries(response.headers);
        texts.push(rest, await response.text());
      }
      return {
        texts,
        fast: gateway.logged.filter((line) => line.includes('"prepared":true')).length,
      };
    };
    const plain = await answers({ explain: false }, {});
    expect(plain.fast).toBe(2);
    expect(await answers({ explain: false }, EXPLAIN)).toEqual(plain);
    expect(await answers({ explain: true }, {})).toEqual(plain);
    const explained = await answers({ explain: true }, EXPLAIN);
    expect(explained.fast).toBe(0);
    expect(explained.texts.join()).toContain('"explain"');
  });
});

it('a subscription is explained with its first payload only', async () => {
  let polls = 0;
  await using service = await startService(() => {
    polls += 1;
    const ids = Array.from({ length: polls }, (_, index) => index).toReversed();
    const occurredAt = (id: number) => new Date(Date.UTC(2026, 10, 20, 0, id)).toISOString();
    return { body: ids.map((id) => ({ id: `e${id}`, action: 'a', occurredAt: occurredAt(id) })) };
  });
  await using gateway = gatewayOver(service.url, { pause: async () => {} });
  const response = await gateway.fetch('http://gateway.test/graphql', {
    method: 'POST',
    headers: {
      ...{ 'content-type': 'application/json', accept: 'text/event-stream' },
      ...{ authorization: 'Bearer t', ...EXPLAIN },
    },
    body: JSON.stringify({ query: 'subscription { canary: auditEvents { checkpoint } }' }),
  });
  const payloads: { extensions?: { explain: Explanation } }[] = [];
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    const lines = text
      .split('\n')
      .slice(0, -1)
      .filter((line) => line.startsWith('data: {'));
    payloads.splice(0, payloads.length, ...lines.map((line) => JSON.parse(line.slice(6))));
    if (payloads.length > 2) break;
  }
  const [first, ...others] = payloads;
  expect(others.length).toBeGreaterThan(1);
  expect(JSON.stringify(payloads.map(({ extensions }) => extensions))).not.toContain('canary');
  expect(first?.extensions?.explain).toMatchObject({
    calls: [{ field: 'auditEvents', path: '/api/v1/audit', status: 200 }],
    mapping: { event: { action: { at: '/action', found: '1 of 1' } } },
  });
  expect(others.map(({ extensions }) => extensions)).toEqual(others.map(() => undefined));
});

it('nothing is collected after the first payload was explained', async () => {
  await using service = await startService({ body: EVENTS });
  const options = { timeoutMs: 5000, connections: 1, maxBytes: 2 ** 20, now: () => 0 };
  await using client = createRestClient({ url: new URL(service.url), ...options });
  const explanation = createExplanation(client, {});
  const poll = () => {
    const calls = explanation.client.of(NO_TRACE).authorized(parseBearer('Bearer t'));
    return calls.get('audit', path`/api/v1/audit`, (response) => response);
  };
  await poll();
  const first = explanation.explain('auditEvents');
  expect(first).toMatchObject({ calls: [{ field: 'auditEvents', attempts: 1 }] });
  await poll();
  expect(service.seen).toHaveLength(2);
  expect(explanation.explain('auditEvents')).toEqual(first);
});

it('CORS allows the header', async () => {
  await using gateway = gatewayOver('http://127.0.0.1:9', {
    corsOrigins: ['https://app.example.com'],
  });
  const response = await gateway.fetch('http://gateway.test/graphql', {
    method: 'OPTIONS',
    headers: {
      ...{ origin: 'https://app.example.com', 'access-control-request-method': 'POST' },
      'access-control-request-headers': 'content-type,x-keytrail-explain',
    },
  });
  expect(response.headers.get('access-control-allow-headers')).toContain('x-keytrail-explain');
});
