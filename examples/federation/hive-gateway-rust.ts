import { unifiedGraphHandler } from '@graphql-hive/router-runtime';
import { startHiveGateway } from './hive-gateway.ts';
import { type RouterOptions, type Running, readLocal, runRouter } from './serve.ts';

/** Serves a supergraph with Hive Gateway and the query planner of Hive Router, which is written in Rust. */
export async function startHiveGatewayRust(options: RouterOptions): Promise<Running> {
  return startHiveGateway(options, unifiedGraphHandler);
}

if (import.meta.main) {
  const supergraphSdl = readLocal('supergraph.graphql');
  await runRouter('Hive Gateway, Rust planner', (port) =>
    startHiveGatewayRust({ supergraphSdl, port }),
  );
}
