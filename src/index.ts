/// <reference types="node" preserve="true" />

export type { ErrorCode, FailureExtensions, FailureReason } from './errors.ts';
export { createGateway, type Gateway } from './gateway/api/create-gateway.ts';
export type { GatewayOptions, UpstreamOptions } from './gateway/api/gateway-options.ts';
export { ConfigError } from './gateway/config/config-error.ts';
export type { ConfiguredContract } from './gateway/mapping/contract.ts';
export type { GatewayLog } from './gateway/observability/observer.ts';
export { createSandbox } from './testing/create-sandbox.ts';
export type { SandboxEvent } from './testing/sandbox/event.ts';
export type { RestRequest } from './testing/sandbox/routes.ts';
export type { ScriptedResponse } from './testing/sandbox/script.ts';
export type { SandboxClient } from './testing/sandbox/seed.ts';
export type { Sandbox, SandboxOptions } from './testing/sandbox/server.ts';
