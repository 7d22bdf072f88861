import { readFileSync } from 'node:fs';
import { createGatewayRuntime } from '@graphql-hive/gateway-runtime';
import { gatewayConfig } from './gateway.config.ts';
import { type RouterOptions, type Running, serve } from './serve.ts';

/** Serves a supergraph in this process, as the `hive-gateway` command does with `gateway.config.ts`. */
export async function startHiveGateway({ supergraphSdl, port }: RouterOptions): Promise<Running> {
  const gateway = createGatewayRuntime({ ...gatewayConfig, supergraph: supergraphSdl });
  const running = await serve(gateway, port);
  return {
    url: running.url,
    [Symbol.asyncDispose]: async () => {
      await running[Symbol.asyncDispose]();
      await gateway[Symbol.asyncDispose]();
    },
  };
}

if (import.meta.main) {
  const running = await startHiveGateway({
    supergraphSdl: readFileSync(new URL('supergraph.graphql', import.meta.url), 'utf8'),
    port: Number(process.env['PORT'] ?? 4100),
  });
  // The runtime disposes of itself on these signals, but leaves the port open.
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.once(signal, () => void running[Symbol.asyncDispose]());
  process.stdout.write(`Hive Gateway: ${running.url}\n`);
}
