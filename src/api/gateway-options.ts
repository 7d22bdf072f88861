import { createSecureContext } from 'node:tls';
import { z } from 'zod';
import { ConfigError } from '../config/config-error.ts';
import { checkContract } from '../config/contract-file.ts';
import { isBaseAddress, isOrigin, isPlainAndFar, isRedisAddress } from '../config/settings.ts';
import type { ConfiguredContract } from '../mapping/contract.ts';
import type { GatewayLog } from '../observability/observer.ts';

/** How to reach the service. */
export type UpstreamOptions = {
  /** Its base address; a path is kept as a prefix. */
  readonly url: string | URL;
  /** Allows plain http to another host than loopback: whoever stands between reads the tokens. Default false. */
  readonly allowHttp?: boolean | undefined;
  /** Deadline of one call in milliseconds, waiting for a connection included. Default 10000. */
  readonly timeoutMs?: number | undefined;
  /** Sockets to the service. Default 64. */
  readonly connections?: number | undefined;
  /** The largest answer read, in bytes. Default 32 MB. */
  readonly maxBytes?: number | undefined;
  /** PEM texts: whom to trust instead of Node's own list, and the certificate to show, with its key. */
  readonly tls?: Readonly<Partial<Record<'ca' | 'cert' | 'key', string | undefined>>> | undefined;
};

/** What a gateway is made of. A library cannot know whether it runs in production: what is open there is off by default. */
export type GatewayOptions = {
  readonly upstream: UpstreamOptions;
  /** Where the service's answers hold what; what is left out is told from each answer. Default `{}`. */
  readonly contract?: ConfiguredContract | undefined;
  /** Logins a minute for one client id, and as many for one address; 0 = no limit. Default 10. */
  readonly loginRateLimit?: number | undefined;
  /** A Redis in which gateways share that count, such as rediss://redis.example.com/0. Default: each counts by itself. */
  readonly rateLimitRedisUrl?: string | undefined;
  /** How many proxies before the gateway add to X-Forwarded-For, for the address that logins count by. Default 0: the socket's. `fetch` knows none. */
  readonly trustedProxies?: number | undefined;
  /** Whether clients may ask for the schema. Default false. */
  readonly introspection?: boolean | undefined;
  /** Whether a browser at /graphql gets GraphiQL. Default false. */
  readonly playground?: boolean | undefined;
  /** Requests under way at once; more are answered with 503. Default 512. */
  readonly maxInFlight?: number | undefined;
  /** Origins whose pages may read the answers in a browser; never with cookies. Default none. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Told of every request, of entries of the contract that lead to nothing, and of bugs. Default: nobody is. */
  readonly log?: GatewayLog | undefined;
  /** Aborted when the gateway should be sent nothing more: `/health/ready` then answers 503. */
  readonly draining?: AbortSignal | undefined;
  /** The time of day. Default: the system's. */
  readonly now?: (() => Date) | undefined;
};

/** Options without a mistake in them. */
export type CheckedOptions = GatewayOptions & {
  readonly upstream: UpstreamOptions & { readonly url: URL };
  readonly contract: ConfiguredContract;
  readonly loginRateLimit: number;
  readonly trustedProxies: number;
  readonly introspection: boolean;
  readonly playground: boolean;
  readonly corsOrigins: readonly string[];
};

/**
 * Checks the options of a gateway.
 * @throws ConfigError that names every problem at once, and repeats no value.
 */
export function checkOptions(options: unknown): CheckedOptions {
  const { data, error } = schema.safeParse(options);
  const checked = checkContract(Object(options).contract ?? {});
  const problems = [
    ...(error?.issues ?? []).flatMap(describe),
    ...('problems' in checked ? checked.problems.map((problem) => `contract: ${problem}`) : []),
  ];
  if (data === undefined || !('contract' in checked) || problems.length > 0) {
    throw new ConfigError(problems);
  }
  return { ...data, contract: checked.contract };
}

const wholeNumber = (from: number, to: number, of = '') => {
  const error = `must be a whole number${of}, ${from} to ${to}`;
  return z.int({ error }).min(from, { error }).max(to, { error });
};

const flag = z.boolean({ error: 'must be true or false' }).default(false);

const callable = <T>(error: string) =>
  z.custom<T>((value) => typeof value === 'function', { error });

const url = z
  .custom<string | URL>(
    (value) => (typeof value === 'string' || value instanceof URL) && isBase(String(value)),
    { error: 'must be an http or https URL without user, password, query or fragment' },
  )
  .transform((value) => new URL(value));

const pem = z.string({ error: 'must be a PEM text' }).optional();

const upstream = z
  .strictObject(
    {
      url,
      allowHttp: flag,
      timeoutMs: wholeNumber(1, 600_000, ' of milliseconds').optional(),
      connections: wholeNumber(1, 65_535).optional(),
      maxBytes: wholeNumber(1, 2 ** 29, ' of bytes').optional(),
      tls: z
        .strictObject({ ca: pem, cert: pem, key: pem }, { error: 'must be an object' })
        .refine(isTls, { error: 'must hold PEM texts, cert and key together' })
        .optional(),
    },
    { error: 'must be an object with the `url` of the service' },
  )
  .refine(({ allowHttp, url: { href } }) => allowHttp || !isPlainAndFar(href), {
    path: ['url'],
    error:
      'must be https, unless it is on loopback: over plain http everybody on the way reads the tokens. `upstream.allowHttp: true` allows it all the same',
  });

const REDIS_URL = 'must be a redis or rediss URL without query or fragment';

const schema = z.strictObject(
  {
    upstream,
    contract: z.unknown().optional(),
    loginRateLimit: wholeNumber(0, 10_000, ' of logins a minute').default(10),
    rateLimitRedisUrl: z
      .string({ error: REDIS_URL })
      .refine(isRedisAddress, { error: REDIS_URL })
      .optional(),
    trustedProxies: wholeNumber(0, 10).default(0),
    introspection: flag,
    playground: flag,
    maxInFlight: wholeNumber(1, 65_535).optional(),
    corsOrigins: z
      .array(
        z
          .string({ error: 'must be an origin such as https://app.example.com' })
          .refine(isOrigin, { error: 'must be an origin such as https://app.example.com' }),
        { error: 'must be a list of origins such as https://app.example.com' },
      )
      .default([]),
    log: z
      .custom<GatewayLog>(isLog, {
        error: 'must have the functions `info`, `warn` and `error`, as `console` has',
      })
      .optional(),
    draining: z.instanceof(AbortSignal, { error: 'must be an AbortSignal' }).optional(),
    now: callable<() => Date>('must be a function that gives a Date').optional(),
  },
  { error: 'createGateway takes an object of options' },
);

function isBase(text: string): boolean {
  const parsed = URL.parse(text);
  return parsed !== null && isBaseAddress(parsed);
}

function isTls({ ca, cert, key }: NonNullable<UpstreamOptions['tls']>): boolean {
  try {
    createSecureContext({ ca, cert, key });
    const isWritten = [ca, cert, key].every((text) => text?.includes('-----BEGIN ') ?? true);
    return isWritten && (cert === undefined) === (key === undefined);
  } catch {
    return false;
  }
}

function isLog(value: unknown): boolean {
  return ['info', 'warn', 'error'].every((level) => typeof Object(value)[level] === 'function');
}

function describe(issue: z.core.$ZodIssue): readonly string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `${[...issue.path, key].join('.')} is no option.`);
  }
  return [`${[issue.path.join('.'), issue.message].filter((part) => part !== '').join(' ')}.`];
}
