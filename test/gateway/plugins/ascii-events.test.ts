import { expect, it } from 'vitest';
import { gatewayOver } from '../../helpers/gateway.ts';
import { startService } from '../../helpers/service.ts';
import { subscribe } from '../../helpers/subscribe.ts';

it('writes payloads of subscriptions in ASCII, without a change of their values', async () => {
  const note = 'é語😀\u2028\ud800"\\';
  const records = [{ id: 'ß', at: '2026-11-21T06:20:33Z', note }];
  await using service = await startService({ body: records });
  await using gateway = gatewayOver(service.url);
  const query = `subscription { auditEvents(filter: {since: "2026-11-21T00:00:00Z"}) {
    nodes { id raw(pointer: "/note") } checkpoint previous missed
  } }`;
  await using stream = await subscribe(gateway, {}, { query });
  const { nodes } = await stream.nextBatch();
  expect(nodes).toEqual([{ id: 'ß', raw: note }]);
  expect(stream.received()).toContain('"id":"\\u00df"');
  expect(stream.received()).not.toMatch(/[^\n -~]/);
});
