import { describe, expect, it } from 'vitest';
import { startServiceProcess } from '../../bench/resilience/service.ts';
import { AuditDocument, DeleteApiKeyDocument, LoginDocument } from '../../src/client/graphql.ts';
import { ask, codeOf, gatewayOver } from '../helpers/gateway.ts';
import { startRaw } from '../helpers/raw-socket.ts';
import { startService } from '../helpers/service.ts';

const READ = (gateway: ReturnType<typeof gatewayOver>) =>
  ask(gateway, AuditDocument, {}, { token: 't' });
const LOG_IN = (gateway: ReturnType<typeof gatewayOver>) =>
  ask(gateway, LoginDocument, { clientId: 'c', credential: { clientSecret: 's' } });
const DELETE = (gateway: ReturnType<typeof gatewayOver>) =>
  ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' });

/** A request whose caller may leave. */
function leavable(query: string, signal: AbortSignal, token: string): Request {
  return new Request('http://gateway.test/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query }),
    signal,
  });
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('a service that', () => {
  it('resets every connection loses a read after its second try, and leaves a login or a deletion in doubt', async () => {
    await using service = await startRaw((socket) => socket.resetAndDestroy());
    await using gateway = gatewayOver(service.url);
    expect(codeOf(await READ(gateway))).toBe('UPSTREAM_UNAVAILABLE');
    expect(service.requests()).toBe(2);
    expect(codeOf(await LOG_IN(gateway))).toBe('OUTCOME_UNKNOWN');
    expect(service.requests()).toBe(3);
    expect(codeOf(await DELETE(gateway))).toBe('OUTCOME_UNKNOWN');
    expect(service.requests()).toBe(4);
  });

  it('is too slow for its queue: a deletion is in doubt exactly when the service saw it', async () => {
    await using service = await startRaw(() => {});
    await using gateway = gatewayOver(service.url, {
      upstream: { timeoutMs: 150, connections: 2 },
    });
    const results = await Promise.all(Array.from({ length: 20 }, () => DELETE(gateway)));
    await until(() => service.sockets() === 0);
    const inDoubt = results.filter((result) => codeOf(result) === 'OUTCOME_UNKNOWN');
    expect(inDoubt).toHaveLength(service.requests());
    const waited = results.filter((result) => codeOf(result) === 'UPSTREAM_TIMEOUT');
    expect(inDoubt.length + waited.length).toBe(20);
    expect(waited.map(({ errors }) => errors?.[0]?.extensions.retryable)).not.toContain(true);
  });

  it('stops and goes on sees a login or a deletion once if it is in doubt, and never otherwise', async () => {
    await using service = await startServiceProcess();
    await using gateway = gatewayOver(service.url, {
      upstream: { timeoutMs: 500, connections: 4 },
    });
    service.pause();
    const names = Array.from({ length: 40 }, (_, number) => `well.${number}`);
    const codes = await Promise.all(
      names.map(async (clientId, number) => {
        const credential = { clientSecret: 's' };
        const result = await (number % 2 === 0
          ? ask(gateway, LoginDocument, { clientId, credential })
          : ask(gateway, DeleteApiKeyDocument, { clientId }, { token: clientId }));
        return codeOf(result);
      }),
    );
    service.resume();
    const inDoubt = names.filter((_, number) => codes[number] === 'OUTCOME_UNKNOWN');
    expect(inDoubt.length).toBeGreaterThan(0);
    const countReceived = async () => (await service.received()).size;
    await expect.poll(countReceived, { timeout: 5000 }).toBe(inDoubt.length);
    expect(await service.received()).toEqual(new Map(inDoubt.map((name) => [name, 1])));
  });

  it.each([
    'SSH-2.0-OpenSSH_9.9\r\n',
    'HTTP/1.1 abc\r\n\r\n',
    `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(70_000)}\r\n\r\n`,
    'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\n[]',
    'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n',
  ])('does not speak HTTP cannot be read', async (bytes) => {
    await using service = await startRaw((socket) => socket.end(bytes));
    await using gateway = gatewayOver(service.url);
    const { errors } = await READ(gateway);
    expect(errors?.[0]?.extensions).toMatchObject({
      code: 'UPSTREAM_BAD_RESPONSE',
      reason: 'NOT_HTTP',
    });
    expect(service.requests()).toBe(1);
  });

  it('names no encoding of its answer has none', async () => {
    await using service = await startService({ headers: { 'content-encoding': '' }, body: [] });
    await using gateway = gatewayOver(service.url);
    expect(codeOf(await READ(gateway))).toBe('');
  });

  it('closes before the length that it announced has cut its answer short', async () => {
    await using service = await startRaw((socket) =>
      socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 9\r\n\r\n[]'),
    );
    await using gateway = gatewayOver(service.url);
    expect((await READ(gateway)).errors?.[0]?.extensions.reason).toBe('TRUNCATED');
  });

  it('nests its answer 65 deep cannot be read; 64 deep it can', async () => {
    let depth = 64;
    await using service = await startService(() => ({
      body: '['.repeat(depth) + ']'.repeat(depth),
    }));
    await using gateway = gatewayOver(service.url);
    expect(codeOf(await READ(gateway))).toBe('');
    for (depth of [65, 20_000]) {
      expect(codeOf(await READ(gateway))).toBe('UPSTREAM_BAD_RESPONSE');
    }
  });

  it('fails with a long body keeps its connection for the next request', async () => {
    await using service = await startService({ status: 500, body: 'x'.repeat(30_000) });
    await using gateway = gatewayOver(service.url, { upstream: { connections: 1 } });
    for (let round = 0; round < 20; round += 1) {
      expect(codeOf(await READ(gateway))).toBe('UPSTREAM_ERROR');
    }
    expect(service.connections()).toBe(1);
  });
});

describe('a caller who leaves', () => {
  it('does not end a deletion that was sent', async () => {
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
    const { promise: go, resolve: release } = Promise.withResolvers<void>();
    let finished = false;
    await using service = await startService(async (_, response) => {
      arrive();
      await go;
      finished = !response.destroyed;
      return { status: 204 };
    });
    await using gateway = gatewayOver(service.url);
    const caller = new AbortController();
    const answer = gateway.fetch(
      leavable('mutation { deleteApiKey(clientId: "k") { outcome } }', caller.signal, 't'),
    );
    await arrived;
    caller.abort();
    release();
    await expect(answer).rejects.toThrow('aborted');
    await until(() => finished);
  });

  it('in any number never wedges the pool', async () => {
    await using service = await startService(async ({ headers }) => {
      if (headers.authorization === 'Bearer slow') await new Promise(() => {});
      return { body: [] };
    });
    await using gateway = gatewayOver(service.url, { upstream: { connections: 2 } });
    const callers = Array.from({ length: 20 }, () => new AbortController());
    const answers = callers.map(({ signal }) =>
      gateway.fetch(leavable('{ audit { totalCount } }', signal, 'slow')),
    );
    await until(() => service.seen.length === 2);
    for (const caller of callers) caller.abort();
    await Promise.allSettled(answers);
    expect(codeOf(await READ(gateway))).toBe('');
    expect(service.seen).toHaveLength(3);
  });
});
