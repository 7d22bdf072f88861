import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { GRAFBASE, startGrafbaseGateway } from '../../examples/federation/grafbase-gateway.ts';
import { serve } from '../../examples/federation/serve.ts';

describe.skipIf(GRAFBASE === undefined)('the start of Grafbase', () => {
  it('fails if its port belongs to another program, whatever that responds', async () => {
    await using other = await serve((_, response) => response.writeHead(200).end(), 0);
    const schema = fileURLToPath(
      new URL('../../examples/federation/owners.graphql', import.meta.url),
    );
    const config = `[subgraphs.owners]\nschema_path = "${schema}"\nurl = "${other.url}"\n`;
    const port = Number(new URL(other.url).port);
    await expect(startGrafbaseGateway({ config, port })).rejects.toThrow('Grafbase exited');
  });
});
