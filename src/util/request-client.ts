import type { Caller } from './fair-share.ts';
import { type MemoryAccount, UNLIMITED } from './memory-budget.ts';

/** The client of a request. */
export type RequestClient = {
  /** Its network, to count its requests: its IPv4 address, of IPv6 the /48; null if unknown. */
  readonly address: () => string | null;
  /** What the service learns of it, in headers of every call. */
  readonly headers: () => ClientHeaders;
  /** Holds what the service responds to the request. */
  readonly memory: MemoryAccount;
  /** Default: that of the token with which the service is called. */
  readonly identity?: Identity | undefined;
};

/** Headers that name the client, and the gateway between it and the service. */
export type ClientHeaders = {
  readonly [Name in 'user-agent' | 'x-forwarded-for' | 'via']?: string;
};

/** Whose calls they are. */
export type Identity = {
  /** A token from the moment on in which the service has accepted it. */
  readonly caller: Caller;
  /** Remembers that the service has accepted the token, if there is one. Returns whose call it is from now on. */
  accept(): Caller;
};

/** A login that a client requests. */
export type LoginAttempt = {
  readonly clientId: string;
  /** Whether the credential is a refresh token. */
  readonly isRefresh: boolean;
  /** See {@link RequestClient}. */
  readonly address: string | null;
};

/** For calls that no client requested, such as those of a command. */
export const NO_CLIENT: RequestClient = {
  address: () => null,
  headers: () => ({}),
  memory: UNLIMITED,
};
