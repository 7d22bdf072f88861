/// <reference types="node" preserve="true" />
export { ConfigError } from './config-error.ts';
export type { ErrorCode, FailureExtensions, FailureReason } from './errors.ts';
export type { Gateway, GatewayLog } from './gateway-types.ts';
export { createGateway } from './library/gateway.ts';
export type { GatewayOptions, UpstreamOptions } from './library/options.ts';
export { createSandbox } from './library/sandbox.ts';
export type { ConfiguredContract } from './reading/contract.ts';
export type { RestRequest } from './sandbox/request.ts';
export type { Sandbox, SandboxOptions } from './sandbox/sandbox.ts';
export type { ScriptedAnswer } from './sandbox/script.ts';
export type { DemoClient } from './sandbox/seed.ts';
