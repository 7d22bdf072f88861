/** A response of the service with a 2xx status, decoded. */
export type UpstreamResponse = {
  readonly status: number;
  /** By lower-case name; a repeated header is a list. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The parsed JSON; a plain text as a string, where one is allowed; `undefined` for an empty body. */
  readonly body: unknown;
  /** Whether the body was truncated after the requested prefix, see `partial-json.ts`. */
  readonly isPartial?: boolean;
};
