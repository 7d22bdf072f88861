import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { CANARY } from '../helpers/canary.ts';
import { type MeasuredGateway, startMeasuredGateway } from '../helpers/memory.ts';
import { startService } from '../helpers/service.ts';

const MEGABYTE = 2 ** 20;
/** With a literal of 2 KB this is 3 KB within every limit: 10 aliases, and about 250 tokens. */
const SELECTION = Array.from(
  { length: 10 },
  (_, index) =>
    `nodes${index}: nodes { id occurredAt action outcome ipAddress userAgent actor { identifier name type } target { identifier name type } }`,
).join('\n');
const LITERAL = CANARY.literal.repeat(140);
const READ = '{ audit { nodes { id } } }';

describe('memory', () => {
  it('A11: is bounded with 2,000 documents of 3 KB and 500 invalid ones of 30 KB', async () => {
    await using service = await startService({ body: [] });
    await using gateway = await startMeasuredGateway(service.url);
    await warmUp(gateway);
    const before = await gateway.measure();
    await inParallel(2000, (n) =>
      ask(gateway, `query Q${n} { audit(filter: {actor: "${LITERAL}"}) { ${SELECTION} } }`, null),
    );
    await inParallel(500, (n) => ask(gateway, `query Q${n} { ${'a '.repeat(15_000)}`, null));
    const after = await gateway.measure();
    expect((after.alive - before.alive) / MEGABYTE).toBeLessThan(30);
    await expectServed(gateway);
  });

  it('is bounded with an object of 7,000 invalid members, sent repeatedly', async () => {
    await using service = await startService({ body: [] });
    await using gateway = await startMeasuredGateway(service.url);
    await warmUp(gateway);
    const before = await gateway.measure();
    const filter = Object.fromEntries(Array.from({ length: 7000 }, (_, n) => [n, 0]));
    const query = 'query ($filter: AuditFilter) { audit(filter: $filter) { nodes { id } } }';
    await ask(gateway, query); // prepares the operation
    for (let times = 0; times < 3; times += 1) {
      const { errors } = await ask(gateway, query, null, { filter });
      expect(errors?.[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT' });
    }
    const after = await gateway.measure();
    expect((after.peak - before.peak) / MEGABYTE).toBeLessThan(100);
  });

  it('is bounded with fragments that expand 60 fields to 100,000', async () => {
    await using service = await startService({ body: { id: 'k' } });
    await using gateway = await startMeasuredGateway(service.url);
    await warmUp(gateway);
    const before = await gateway.measure();
    const ten = (selection: string) =>
      Array.from({ length: 10 }, (_, n) => `f${n}: ${selection}`).join(' ');
    const query = `mutation ($c: ID!) { deleteApiKey(clientId: $c) { ${ten('apiKey { ...K }')} } }
      fragment K on ApiKey { ${ten('audit { ...C }')} }
      fragment C on AuditEventConnection { ${ten('edges { ...E }')} }
      fragment E on AuditEventEdge { ${ten('node { ...N }')} }
      fragment N on AuditEvent { ${ten('actor { ...P }')} }
      fragment P on AuditParty { id name type }`;
    for (let times = 0; times < 3; times += 1) {
      const { errors } = await ask(gateway, query, null, { c: 'c' });
      expect(errors?.[0]?.extensions).toMatchObject({ code: 'OPERATION_TOO_COMPLEX' });
    }
    const after = await gateway.measure();
    expect((after.peak - before.peak) / MEGABYTE).toBeLessThan(100);
  });

  it.each([
    ['invalid representations', 30_000, 1, '...K @skip(if: true)'],
    ['keys, without a token', 1300, { __typename: 'ApiKey', clientId: 1 }, '...K'],
  ])(
    'is bounded with errors about thousands of %s',
    async (_, count, representation, selection) => {
      await using service = await startService({ body: [] });
      await using gateway = await startMeasuredGateway(service.url);
      await warmUp(gateway);
      const before = await gateway.measure();
      const all = (count: number, text: (n: number) => string) =>
        Array.from({ length: count }, (_, n) => text(n)).join(' ');
      const query = `query ($r: [_Any!]!) {
        ${all(4, (n) => `r${n}: _entities(representations: $r) { ${selection} }`)}
      }
      fragment K on ApiKey { ${all(40, (n) => `k${n}: audit { __typename }`)} }`;
      const representations = Array.from({ length: count }, () => representation);
      const { errors } = await ask(gateway, query, null, { r: representations });
      expect(errors?.[0]?.extensions).toMatchObject({ code: 'OPERATION_TOO_COMPLEX' });
      const after = await gateway.measure();
      expect((after.peak - before.peak) / MEGABYTE).toBeLessThan(100);
    },
  );

  it('A37: is bounded with a gzip bomb, which is UPSTREAM_BAD_RESPONSE', async () => {
    const bomb = gzipSync(Buffer.alloc(100 * MEGABYTE, ' '));
    let isBomb = false;
    await using service = await startService((_, response) => {
      if (!isBomb) return { body: [] };
      response.writeHead(200, { 'content-encoding': 'gzip', 'x-note': CANARY.upstreamHeader });
      response.end(bomb);
      return undefined;
    });
    await using gateway = await startMeasuredGateway(service.url);
    await warmUp(gateway);
    const before = await gateway.measure();
    const sockets = service.sockets();
    isBomb = true;
    const { errors } = await ask(gateway, READ);
    expect(errors?.[0]?.extensions).toMatchObject({
      code: 'UPSTREAM_BAD_RESPONSE',
      reason: 'CONTENT_ENCODING',
    });
    const after = await gateway.measure();
    expect((after.peak - before.peak) / MEGABYTE).toBeLessThan(20);
    isBomb = false;
    await expectServed(gateway);
    await expect.poll(service.sockets).toBeLessThanOrEqual(sockets);
  });
});

/** Excludes what the first requests load, compile and cache. */
async function warmUp(gateway: MeasuredGateway): Promise<void> {
  await inParallel(200, (n) => ask(gateway, `${READ} # ${n}`));
}

async function expectServed(gateway: MeasuredGateway): Promise<void> {
  expect((await ask(gateway, READ)).data).toEqual({ audit: { nodes: [] } });
}

type Result = {
  readonly data?: unknown;
  readonly errors?: readonly { readonly extensions: object }[];
};

/** Without a token nothing is sent to the service. */
async function ask(
  { url }: MeasuredGateway,
  query: string,
  token: string | null = CANARY.accessToken,
  variables: object = {},
): Promise<Result> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token !== null && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ query, variables }),
  });
  return JSON.parse(await response.text());
}

/** Calls `work` `times` times, eight at once. */
async function inParallel(times: number, work: (index: number) => Promise<unknown>): Promise<void> {
  const rounds = Array.from({ length: times }, (_, index) => index).values();
  const worker = async () => {
    for (const index of rounds) await work(index);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}
