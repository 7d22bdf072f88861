import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { gatewayOver, onPort } from '../helpers/gateway.ts';
import { startService } from '../helpers/service.ts';

const REQUESTS = 10_000;
const AT_ONCE = 50;

/** True with a probability of `percent`. */
const chance = (percent: number) => Math.random() * 100 < percent;

describe('ten thousand requests with tokens, delays, retries and disconnects', () => {
  it('never send the token of another client, nor get the response to another', async () => {
    const mixed: string[] = [];
    const sent = { GET: 0, DELETE: 0 };
    await using service = await startService(async ({ method, url, headers }, response) => {
      const token = headers.authorization?.replace('Bearer ', '') ?? '';
      // The client's request ID identifies the client.
      if (headers['x-request-id'] !== token) mixed.push(`sent: ${token}`);
      if (method === 'DELETE' && !url.endsWith(`/${token}`)) mixed.push(`deleted: ${url}`);
      sent[method === 'DELETE' ? 'DELETE' : 'GET'] += 1;
      if (chance(50)) await wait(Math.random() * 10);
      if (method === 'GET' && chance(5)) return { status: 503 };
      if (method === 'GET' && chance(3)) {
        response.destroy();
        return undefined;
      }
      return method === 'DELETE' ? { status: 204 } : { body: [{ id: token }] };
    });
    await using gateway = gatewayOver(service.url, { upstream: { connections: 32 } });
    await using server = await onPort(gateway);

    const outcome = { served: 0, failed: 0, disconnected: 0 };
    const ask = async (number: number) => {
      const token = `token-${number}`;
      const isDeletion = chance(10);
      const query = isDeletion
        ? `mutation { deleteApiKey(clientId: "${token}") { apiKey { clientId } } }`
        : '{ audit { nodes { id } } }';
      const signal = chance(10) ? AbortSignal.timeout(Math.floor(Math.random() * 20)) : undefined;
      try {
        const response = await fetch(`${server.url}/graphql`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            authorization: `Bearer ${token}`,
            'x-request-id': token,
          },
          body: JSON.stringify({ query }),
          ...(signal && { signal }),
        });
        const text = await response.text();
        const others = text.match(/token-\d+/g)?.filter((each) => each !== token) ?? [];
        if (others.length > 0) mixed.push(`response: ${token} ${others}`);
        outcome[text.includes('"errors"') ? 'failed' : 'served'] += 1;
      } catch {
        outcome.disconnected += 1;
      }
    };
    let next = 0;
    const worker = async () => {
      while (next < REQUESTS) {
        next += 1;
        await ask(next);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));

    expect(mixed).toEqual([]);
    expect(outcome.served).toBeGreaterThan(REQUESTS * 0.8);
    expect(outcome.disconnected).toBeGreaterThan(0);
    expect(outcome.served + outcome.failed + outcome.disconnected).toBe(REQUESTS);
    expect(sent.GET).toBeGreaterThan(outcome.served - sent.DELETE); // some were retried
  });
});
