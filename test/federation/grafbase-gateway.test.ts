import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { GRAFBASE, startGrafbaseGateway } from '../../examples/federation/grafbase-gateway.ts';
import { serve } from '../../examples/federation/serve.ts';

describe.skipIf(GRAFBASE === undefined)('the start of Grafbase', () => {
  it('fails if another program that is healthy has its port', async () => {
    await using other = await serve(({ url }, response) => {
      response.writeHead(url === '/health' ? 200 : 404).end();
    }, 0);
    const schema = fileURLToPath(
      new URL('../../examples/federation/owners.graphql', import.meta.url),
    );
    const config = `[subgraphs.owners]\nschema_path = "${schema}"\nurl = "${other.url}"\n`;
    const port = Number(new URL(other.url).port);
    await expect(startGrafbaseGateway({ config, port })).rejects.toThrow('Grafbase exited');
  });
});
