import { serverAudits } from 'graphql-http';
import { describe, expect, it } from 'vitest';
import { gatewayOver } from '../../helpers/gateway.ts';

describe('the audits of graphql-http', () => {
  const gateway = gatewayOver('http://127.0.0.1:9');
  const audits = serverAudits({
    url: 'http://gateway.test/graphql',
    fetchFn: (url: string, init?: RequestInit) => gateway.fetch(new Request(url, init)),
  });

  it('are 61', () => expect(audits).toHaveLength(61));

  it.each(audits.map((audit) => [audit.name, audit] as const))('%s', async (_, audit) => {
    expect(await audit.fn()).toMatchObject({ status: 'ok' });
  });
});
