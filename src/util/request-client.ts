/** The client of a request. */
export type RequestClient = {
  /** Its IP address, of IPv6 the /64, to count its requests; null if unknown. */
  readonly address: () => string | null;
  /** What the service learns of it, in headers of every call. */
  readonly headers: () => ClientHeaders;
};

/** Headers that name the client, and the gateway between it and the service. */
export type ClientHeaders = {
  readonly [Name in 'user-agent' | 'x-forwarded-for' | 'via']?: string;
};

/** For calls that no client requested, such as those of a command. */
export const NO_CLIENT: RequestClient = { address: () => null, headers: () => ({}) };
