import { describe, expect, it } from 'vitest';
import { startServiceProcess } from '../../bench/resilience/service.ts';
import {
  AuditDocument,
  DeleteApiKeyDocument,
  LoginDocument,
} from '../../src/client/operations.generated.ts';
import { ask, codeOf, gatewayOver } from '../helpers/gateway.ts';
import { startRawService } from '../helpers/raw-socket.ts';
import { startService } from '../helpers/service.ts';

const READ = (gateway: ReturnType<typeof gatewayOver>) =>
  ask(gateway, AuditDocument, {}, { token: 't' });
const LOG_IN = (gateway: ReturnType<typeof gatewayOver>) =>
  ask(gateway, LoginDocument, { clientId: 'c', credential: { clientSecret: 's' } });
const DELETE = (gateway: ReturnType<typeof gatewayOver>) =>
  ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' });

/** A request that can be aborted. */
function abortable(query: string, signal: AbortSignal, token: string): Request {
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
  it('resets every connection gets two attempts of a read, and one of a login or a deletion, which is OUTCOME_UNKNOWN', async () => {
    await using service = await startRawService((socket) => socket.resetAndDestroy());
    await using gateway = gatewayOver(service.url);
    expect(codeOf(await READ(gateway))).toBe('UPSTREAM_UNAVAILABLE');
    expect(service.requests()).toBe(2);
    expect(codeOf(await LOG_IN(gateway))).toBe('OUTCOME_UNKNOWN');
    expect(service.requests()).toBe(3);
    expect(codeOf(await DELETE(gateway))).toBe('OUTCOME_UNKNOWN');
    expect(service.requests()).toBe(4);
  });

  it('is too slow for its queue: a deletion is OUTCOME_UNKNOWN exactly if the service received it', async () => {
    await using service = await startRawService(() => {});
    await using gateway = gatewayOver(service.url, {
      upstream: { timeoutMs: 150, connections: 2 },
    });
    const results = await Promise.all(Array.from({ length: 20 }, () => DELETE(gateway)));
    await until(() => service.sockets() === 0);
    const unknown = results.filter((result) => codeOf(result) === 'OUTCOME_UNKNOWN');
    expect(unknown).toHaveLength(service.requests());
    const queued = results.filter((result) => codeOf(result) === 'OVERLOADED');
    expect(unknown.length + queued.length).toBe(20);
    expect(queued.map(({ errors }) => errors?.[0]?.extensions.retryable)).not.toContain(false);
    expect(unknown.map(({ errors }) => errors?.[0]?.extensions.retryable)).not.toContain(true);
  });

  it('pauses and resumes receives each login or deletion that is OUTCOME_UNKNOWN once, and no other', async () => {
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
    const unknown = names.filter((_, number) => codes[number] === 'OUTCOME_UNKNOWN');
    expect(unknown.length).toBeGreaterThan(0);
    const countReceived = async () => (await service.received()).size;
    await expect.poll(countReceived).toBe(unknown.length);
    expect(await service.received()).toEqual(new Map(unknown.map((name) => [name, 1])));
  });

  it.each([
    'SSH-2.0-OpenSSH_9.9\r\n',
    'HTTP/1.1 abc\r\n\r\n',
    'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\n[]',
    'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n',
  ])('does not speak HTTP is UPSTREAM_BAD_RESPONSE', async (bytes) => {
    await using service = await startRawService((socket) => socket.end(bytes));
    await using gateway = gatewayOver(service.url);
    const { errors } = await READ(gateway);
    expect(errors?.[0]?.extensions).toMatchObject({
      code: 'UPSTREAM_BAD_RESPONSE',
      reason: 'NOT_HTTP',
    });
    expect(service.requests()).toBe(1);
  });

  it('sends an empty content-encoding is read', async () => {
    await using service = await startService({ headers: { 'content-encoding': '' }, body: [] });
    await using gateway = gatewayOver(service.url);
    expect(codeOf(await READ(gateway))).toBe('');
  });

  it('closes before its Content-Length has sent a truncated response', async () => {
    await using service = await startRawService((socket) =>
      socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 9\r\n\r\n[]'),
    );
    await using gateway = gatewayOver(service.url);
    expect((await READ(gateway)).errors?.[0]?.extensions.reason).toBe('TRUNCATED');
  });

  it('nests its response 65 levels deep is UPSTREAM_BAD_RESPONSE; with 64 levels it is read', async () => {
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

describe('a client that disconnects', () => {
  it('does not cancel a deletion that was sent', async () => {
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
    const client = new AbortController();
    const response = gateway.fetch(
      abortable('mutation { deleteApiKey(clientId: "k") { outcome } }', client.signal, 't'),
    );
    await arrived;
    client.abort();
    release();
    await expect(response).rejects.toThrow('aborted');
    await until(() => finished);
  });

  it('does not block the connection pool, even if many disconnect', async () => {
    await using service = await startService(async ({ headers }) => {
      if (headers.authorization === 'Bearer slow') await new Promise(() => {});
      return { body: [] };
    });
    await using gateway = gatewayOver(service.url, { upstream: { connections: 2 } });
    const clients = Array.from({ length: 20 }, () => new AbortController());
    const responses = clients.map(({ signal }) =>
      gateway.fetch(abortable('{ audit { totalCount } }', signal, 'slow')),
    );
    await until(() => service.seen.length === 1);
    for (const client of clients) client.abort();
    await Promise.allSettled(responses);
    expect(codeOf(await READ(gateway))).toBe('');
    expect(service.seen).toHaveLength(2);
  });
});
