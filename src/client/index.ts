export type { ErrorCode, FailureReason } from '../errors.ts';
export {
  type MutationResult,
  OperationError,
  type ResultError,
  SessionLost,
  wasRefused,
} from './errors.ts';
export type { ExplainedEntry, Explanation } from './explanation.ts';
export type { Batch, Follow, FollowOptions, Timers } from './follow.ts';
export * from './operations.generated.ts';
export {
  type Document,
  type Fetch,
  type RequestOptions,
  type Result,
  request,
} from './request.ts';
export {
  createSession,
  type Session,
  type SessionOptions,
  type TokenStore,
  type Tokens,
} from './session.ts';
