import { createGatewayRuntime, type UnifiedGraphHandler } from '@graphql-hive/gateway-runtime';
import { gatewayConfig } from './gateway.config.ts';
import { type RouterOptions, type Running, readLocal, runRouter, serve } from './serve.ts';

/**
 * Serves a supergraph in this process, as the `hive-gateway` command does with `gateway.config.ts`.
 * @param unifiedGraphHandler plans and executes operations. Default: the planner in JavaScript.
 */
export async function startHiveGateway(
  { supergraphSdl, port }: RouterOptions,
  unifiedGraphHandler?: UnifiedGraphHandler,
): Promise<Running> {
  const gateway = createGatewayRuntime({
    ...gatewayConfig,
    supergraph: supergraphSdl,
    ...(unifiedGraphHandler && { unifiedGraphHandler }),
  });
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
  const supergraphSdl = readLocal('supergraph.graphql');
  await runRouter('Hive Gateway', (port) => startHiveGateway({ supergraphSdl, port }));
}
