/// <reference types="node" preserve="true" />

export { createGateway, type Gateway } from './api/create-gateway.ts';
export type { GatewayOptions, UpstreamOptions } from './api/gateway-options.ts';
export { ConfigError } from './config/config-error.ts';
export type { ErrorCode, FailureExtensions, FailureReason } from './errors.ts';
export type { ConfiguredContract } from './mapping/contract.ts';
export type { GatewayLog } from './observability/observer.ts';
export type { SandboxEvent } from './sandbox/event.ts';
export type { RestRequest } from './sandbox/routes.ts';
export type { ScriptedResponse } from './sandbox/script.ts';
export type { SandboxClient } from './sandbox/seed.ts';
export type { Sandbox, SandboxOptions } from './sandbox/server.ts';
export { createSandbox } from './testing/create-sandbox.ts';
