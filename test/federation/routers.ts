import { startApolloGateway } from '../../examples/federation/apollo-gateway.ts';
import { GRAFBASE, startGrafbaseGateway } from '../../examples/federation/grafbase-gateway.ts';
import { startHiveGateway } from '../../examples/federation/hive-gateway.ts';
import { startHiveGatewayRust } from '../../examples/federation/hive-gateway-rust.ts';
import type { RouterOptions, Running } from '../../examples/federation/serve.ts';
import { startStitchedSchema } from '../../examples/federation/stitched-schema.ts';
import type { ErrorCode } from '../../src/errors.ts';
import { readExample, type StartRouter } from './supergraph.ts';

/** What a router forwards to clients, where routers differ: a column of the table in docs/federation.md. */
export type Forwarded = {
  readonly serviceName: 'keytrail' | 'none';
  readonly path: 'apiKeys.1.audit' | 'apiKeys.audit';
  readonly variable: 'NAME' | '_FIELD_NAME' | 'none';
  readonly wrongVariable: ErrorCode | 'SUBGRAPH_REQUEST_ERROR';
  readonly wrongCredential: ErrorCode | 'VARIABLE_ERROR';
  readonly tooComplex: ErrorCode | 'SUBGRAPH_REQUEST_ERROR';
  readonly overloaded: ErrorCode | 'SUBGRAPH_REQUEST_ERROR';
  readonly data: '{"a":null,"b":null}' | '{"a":null,"a":null}' | 'none';
  readonly unreachable: 'DOWNSTREAM_SERVICE_ERROR' | 'SUBGRAPH_REQUEST_ERROR';
  readonly unknownField: ErrorCode | 'OPERATION_VALIDATION_ERROR';
  readonly syntaxError: ErrorCode | 'OPERATION_PARSING_ERROR';
  readonly invalidStatus: '400' | '200';
  readonly references: '200' | '50';
  readonly longInteger: ErrorCode | 'VARIABLE_ERROR' | 'rounded';
  readonly twoDeletions: ErrorCode | 'SUBGRAPH_REQUEST_ERROR' | 'both deleted';
  readonly subscription: 'streamed' | 'INTERNAL_SERVER_ERROR';
  readonly lostConnection: 'DOWNSTREAM_SERVICE_ERROR' | 'SUBGRAPH_REQUEST_ERROR' | 'none';
  readonly afterwards: 'complete' | 'starts again' | 'none';
  readonly joinError: 'once' | 'in every later payload' | 'none';
};

/** The heads of the rows of that table. */
export const ROWS: Readonly<Record<keyof Forwarded, string>> = {
  serviceName: '`serviceName` in `extensions`',
  path: 'path of the error of the second key',
  variable: 'the variable `NAME` of a `FIELD` in messages',
  wrongVariable: 'a variable that is not a date-time',
  wrongCredential: 'a login with both credentials, or with none',
  tooComplex: 'eleven root fields, or `audit` below `audit`',
  overloaded: 'an overloaded Keytrail',
  data: '`data` of `{ a: audit … b: audit … }` then',
  unreachable: 'Keytrail cannot be reached',
  unknownField: 'an unknown field',
  syntaxError: 'a syntax error',
  invalidStatus: 'HTTP status of these two',
  references: 'references to the 50 keys of 200 events',
  longInteger: 'a client ID of 20 digits, not as a string',
  twoDeletions: 'two deletions in one mutation',
  subscription: 'a subscription',
  lostConnection: 'a lost connection to Keytrail, in a stream',
  afterwards: 'the stream then',
  joinError: 'an error of another subgraph, in a stream',
};

/** A router of the example. */
export type Router = {
  readonly start: StartRouter;
  /** Its script in the example's package.json. */
  readonly script: string;
  readonly forwarded: Forwarded;
  /** Why it cannot run on this machine. */
  readonly missing?: string | undefined;
};

const APOLLO: Forwarded = {
  serviceName: 'keytrail',
  path: 'apiKeys.1.audit',
  variable: 'NAME',
  wrongVariable: 'BAD_USER_INPUT',
  wrongCredential: 'BAD_USER_INPUT',
  tooComplex: 'OPERATION_TOO_COMPLEX',
  overloaded: 'OVERLOADED',
  data: '{"a":null,"b":null}',
  unreachable: 'DOWNSTREAM_SERVICE_ERROR',
  unknownField: 'GRAPHQL_VALIDATION_FAILED',
  syntaxError: 'GRAPHQL_PARSE_FAILED',
  invalidStatus: '400',
  references: '200',
  longInteger: 'BAD_REQUEST',
  twoDeletions: 'OPERATION_TOO_COMPLEX',
  subscription: 'INTERNAL_SERVER_ERROR',
  lostConnection: 'none',
  afterwards: 'none',
  joinError: 'none',
};

const STREAMS = {
  subscription: 'streamed',
  lostConnection: 'DOWNSTREAM_SERVICE_ERROR',
  afterwards: 'complete',
  joinError: 'once',
} as const satisfies Partial<Forwarded>;

const HIVE: Forwarded = {
  ...APOLLO,
  ...STREAMS,
  path: 'apiKeys.audit',
  variable: '_FIELD_NAME',
  invalidStatus: '200',
  references: '50',
  longInteger: 'rounded',
  twoDeletions: 'both deleted',
};

/** The routers of the example, by name. */
export const ROUTERS: Readonly<Record<string, Router>> = {
  'Apollo Gateway': {
    start: withSupergraph(startApolloGateway),
    script: 'apollo',
    forwarded: APOLLO,
  },
  'Hive Gateway': { start: withSupergraph(startHiveGateway), script: 'hive', forwarded: HIVE },
  'Hive Gateway, Rust planner': {
    start: withSupergraph(startHiveGatewayRust),
    script: 'hive-rust',
    forwarded: {
      ...APOLLO,
      ...STREAMS,
      joinError: 'in every later payload',
      data: 'none',
      invalidStatus: '200',
      references: '50',
      longInteger: 'rounded',
    },
  },
  'Stitched schema': {
    start: withSupergraph(startStitchedSchema),
    script: 'stitched',
    forwarded: { ...HIVE, serviceName: 'none' },
  },
  'Grafbase Gateway': {
    start: ({ toTestUrls }) =>
      startGrafbaseGateway({ config: toTestUrls(readExample('grafbase.toml')), port: 0 }),
    script: 'grafbase',
    missing: GRAFBASE === undefined ? 'npm installs Grafbase on Linux on x86-64 only' : undefined,
    // It replaces each response of Keytrail whose status is 400 or 503.
    forwarded: {
      serviceName: 'none',
      path: 'apiKeys.1.audit',
      variable: 'none',
      wrongVariable: 'SUBGRAPH_REQUEST_ERROR',
      wrongCredential: 'VARIABLE_ERROR',
      tooComplex: 'SUBGRAPH_REQUEST_ERROR',
      overloaded: 'SUBGRAPH_REQUEST_ERROR',
      data: '{"a":null,"a":null}',
      unreachable: 'SUBGRAPH_REQUEST_ERROR',
      unknownField: 'OPERATION_VALIDATION_ERROR',
      syntaxError: 'OPERATION_PARSING_ERROR',
      invalidStatus: '200',
      references: '200',
      longInteger: 'VARIABLE_ERROR',
      twoDeletions: 'SUBGRAPH_REQUEST_ERROR',
      ...STREAMS,
      lostConnection: 'SUBGRAPH_REQUEST_ERROR',
      afterwards: 'starts again',
    },
  },
};

function withSupergraph(start: (options: RouterOptions) => Promise<Running>): StartRouter {
  return ({ toTestUrls }) =>
    start({ supergraphSdl: toTestUrls(readExample('supergraph.graphql')), port: 0 });
}

/** Renders the table in docs/federation.md. */
export function renderTable(): string {
  const routers = Object.values(ROUTERS);
  const rows = Object.entries(ROWS).map(([key, head]) => [
    head,
    ...routers.map(({ forwarded }) => toCell(forwarded[key as keyof Forwarded])), // a key of ROWS
  ]);
  const [head, ...body] = [['', ...Object.keys(ROUTERS)], ...rows].map(
    (cells) => `| ${cells.join(' | ')} |`,
  );
  return [head, `|${'---|'.repeat(routers.length + 1)}`, ...body].join('\n');
}

function toCell(value: string): string {
  return /^[a-z]+(?: [a-z]+)*$|^\d+$/.test(value) && value !== 'keytrail' ? value : `\`${value}\``;
}
