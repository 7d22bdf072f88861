import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { constrainedMemory } from 'node:process';
import { trace } from '@opentelemetry/api';
import { z } from 'zod';
import { usedProxyOptions } from '../../util/proxy.ts';
import { ConfigError } from '../config/config-error.ts';
import { checkContract } from '../config/contract-schema.ts';
import type { Config } from '../config/load.ts';
import { findMeantMember } from '../config/schema-members.ts';
import { byOption, SETTINGS, type Setting, type SettingName } from '../config/settings.ts';
import { checkHeaders } from '../config/upstream-headers.ts';
import { graphqlPath, isPlainHttp, isUsableTls, PLAIN_HTTP } from '../config/value-types.ts';
import { assembleGateway, type GatewayDependencies } from '../gateway.ts';
import type { Authorize, Gateway } from '../http/gateway-type.ts';
import type { GatewayLog, GatewayObserver } from '../observability/observer.ts';
import type { RestClientOptions } from '../upstream/http-client.ts';
import { type CallTimers, type GatewayOptions, GRAPHQL_PATH } from './gateway-options.ts';
import { describeUnsupportedServer, requireSupportedNode } from './node-version.ts';

export type { Gateway } from '../http/gateway-type.ts';

/**
 * Creates a gateway to a REST service, to be embedded in a program. It opens no port, reads no environment variable and
 * shares nothing with other gateways. Dispose it when it is no longer needed.
 * @throws ConfigError with every problem of the options. None repeats a value.
 * @throws Error if the installed packages cannot execute a query, or if Node is too old. `handle` throws it on a Node that
 * can run a gateway, but not serve a port.
 */
export function createGateway(options: GatewayOptions): Gateway {
  const gateway = createGatewayWith({}, options);
  const problem = describeUnsupportedServer();
  if (problem === null) return gateway;
  return {
    ...gateway,
    get handle(): never {
      throw new Error(`The gateway's handle ${problem} Its fetch works on this one.`);
    },
  };
}

/** As `createGateway`, with timers for the testbed, the event-loop lag above which load is shed, and an observer. */
export function createGatewayWith(
  {
    pause,
    maxLagMs,
    observer,
    ...timers
  }: CallTimers & { readonly maxLagMs?: number; readonly observer?: Partial<GatewayObserver> },
  options: GatewayOptions,
): Gateway {
  requireSupportedNode();
  const { playground, upstream: all, ...rest } = checkOptions(options);
  const { allowHttp, ...upstream } = all; // read by the check
  return assembleGateway({
    // A setting that the gateway does not take does not compile.
    ...(rest satisfies Pick<GatewayDependencies, keyof typeof rest>),
    upstream: {
      ...(upstream satisfies Pick<RestClientOptions, keyof typeof upstream>),
      ...timers,
    },
    pause,
    maxLagMs,
    observer,
    playground: playground ? {} : null,
    draining: null,
    clock: () => performance.now(),
    random: Math.random,
    memoryBytes: constrainedMemory(),
    tracer: trace.getTracer('keytrail'),
    createId: randomUUID,
  });
}

function checkOptions(options: unknown) {
  const { data, error } = optionsSchema.safeParse(options);
  const checked = checkContract(Object(options).contract ?? {});
  const problems = [
    ...(error?.issues ?? []).flatMap(describeIssue),
    ...('problems' in checked ? checked.problems.map((problem) => `contract: ${problem}`) : []),
  ];
  if (data === undefined || !('contract' in checked) || problems.length > 0) {
    throw new ConfigError(problems);
  }
  return { ...data, contract: checked.contract };
}

/** The schemas of the settings as options: with their defaults. */
const SCHEMAS = Object.fromEntries<z.ZodType>(
  Object.entries<Setting>(SETTINGS).map(([name, { value, default: byDefault }]) => [
    name,
    value.optional().transform((given) => given ?? byDefault),
  ]),
) as { readonly [Name in SettingName]: z.ZodType<Config[Name]> }; // see ValuesOf

const pem = z.string('must be a PEM text').optional();

const headersSchema = z
  .record(z.string(), z.string('must be a text'), 'must be an object of names and values')
  .default({})
  .transform((given, context) => {
    const entries = Object.entries(given);
    const { headers, problems } = checkHeaders(
      entries.map(([name, value], index) => ({ name, value, at: `entry ${index + 1}` })),
    );
    for (const message of problems) context.addIssue({ code: 'custom', message });
    return headers;
  });

/** Leaves out the proxies that are not used: a program may pass on the variables of its machine. */
function withoutUnusedProxies(given: unknown): unknown {
  const { url, httpsProxy, httpProxy, noProxy } = Object(given);
  const proxies = { httpsProxy, httpProxy, noProxy };
  const isText = (value: unknown) => value === undefined || typeof value === 'string';
  const parsed = URL.parse(String(url));
  if (parsed === null || !Object.values(proxies).every(isText)) return given;
  const used: readonly string[] = usedProxyOptions(parsed, proxies);
  const isUnused = (name: string) => name in proxies && !used.includes(name);
  return Object.fromEntries(Object.entries(given ?? {}).filter(([name]) => !isUnused(name)));
}

const upstreamSchema = z.preprocess(
  withoutUnusedProxies,
  z
    .strictObject(
      {
        ...byOption('upstream.', SCHEMAS),
        url: SETTINGS.UPSTREAM_URL.value,
        headers: headersSchema,
        tls: z
          .strictObject({ ca: pem, cert: pem, key: pem }, 'must be an object')
          .refine(
            (tls) => isUsableTls(tls) && (tls.cert === undefined) === (tls.key === undefined),
            'must hold PEM texts, cert and key together',
          )
          .optional(),
      },
      'must be an object with the `url` of the service',
    )
    .refine(({ allowHttp, url }) => allowHttp || !isPlainHttp(url.href), {
      path: ['url'],
      error: `${PLAIN_HTTP} Set \`upstream.allowHttp: true\` to allow it`,
    }),
);

const SILENT: GatewayLog = { info: () => {}, warn: () => {}, error: () => {} };

const optionsSchema = z.strictObject(
  {
    upstream: upstreamSchema,
    path: graphqlPath.value.default(GRAPHQL_PATH),
    ...byOption('', SCHEMAS),
    contract: z.unknown().optional(), // checked by checkContract, whose messages name the entries
    log: z
      .custom<GatewayLog>(
        isLog,
        'must have the functions `info`, `warn` and `error`, as `console` has',
      )
      .default(SILENT),
    authorization: z
      .custom<Authorize>(
        isFunction,
        'must be a function that returns the Authorization header of a request',
      )
      .optional(),
    now: z
      .custom<() => Date>(isFunction, 'must be a function that returns a Date')
      .default(() => () => new Date()),
  },
  'createGateway takes an object of options',
);

function isLog(value: unknown): boolean {
  return ['info', 'warn', 'error'].every((level) => isFunction(Object(value)[level]));
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function';
}

function describeIssue(issue: z.core.$ZodIssue): readonly string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map(
      (key) => `${[...issue.path, key].join('.')} is not an option.${hintAt(issue.path, key)}`,
    );
  }
  return [`${issue.path.join('.')} ${issue.message}.`.trimStart()];
}

function hintAt(path: readonly PropertyKey[], key: string): string {
  const meant = findMeantMember(optionsSchema, path, key);
  if (meant === undefined) return '';
  const full = typeof meant === 'string' ? [...path, meant] : meant;
  return ` Did you mean ${full.join('.')}?`;
}
