import type { GraphQLError } from 'graphql';
import { FAILURES, GatewayError } from '../../errors.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';
import { completeAudit } from '../inference/complete-contract.ts';
import { describeDeletion, describeMapping } from '../inference/describe-mapping.ts';
import { completeLogin } from '../inference/login.ts';
import type { ConfiguredContract } from '../mapping/contract.ts';
import type { DeletionReading } from '../mapping/deletion.ts';
import { readAuditPage } from '../mapping/event.ts';
import { type PageRequest, queryOf } from '../mapping/next-page.ts';
import { describeForeignLink } from '../pagination/paging-error.ts';
import type { RestClient } from '../upstream/http-client.ts';
import { type Path, showPath, toCurl } from '../upstream/path.ts';
import type { Attempt, Trace } from '../upstream/types.ts';
import type { ContractServices } from './context.ts';
import { withoutPath } from './page-loader.ts';

/** The requests to the service, by the fields that send them. */
const REQUESTS: Readonly<Record<string, string>> = {
  login: 'POST /api/v1/auth/login',
  audit: 'GET /api/v1/audit',
  auditEvents: 'GET /api/v1/audit',
  deleteApiKey: 'DELETE /api/v1/secrets/{client_id}',
};

/** A call to the service, or a field that failed before its call. */
type Call = {
  readonly request: string;
  readonly path: Omit<Path, 'value'>;
  readonly attempts: Attempt[];
};

/** Collects what one request does. */
export type ExplanationCollector = ReturnType<typeof createExplanation>;

/**
 * Creates the explanation of one request, which must use its `client`, `onFilter` and `onDeletion`. It contains no value of the client
 * or the service.
 */
export function createExplanation(
  service: RestClient,
  { audit, login, errors }: ConfiguredContract,
) {
  const calls: Call[] = [];
  const pages: Page[] = [];
  const [forwarded, checkedByGateway] = [new Set<string>(), new Set<string>()];
  let loginResponse: UpstreamResponse | undefined;
  let deleted: DeletionReading | undefined;
  let isClosed = false;

  const collectAttempts = (trace: Trace): Trace => ({
    beginCall: (method, path) => {
      const beginAttempt = trace.beginCall(method, path);
      const attempts: Attempt[] = [];
      calls.push({ request: `${method} ${path.template}`, path, attempts });
      return (isRetry) => {
        const { headers, end } = beginAttempt(isRetry);
        const collect = (attempt: Attempt) => {
          attempts.push(attempt);
          end(attempt);
        };
        return { headers, end: collect };
      };
    },
  });
  const client: RestClient = {
    ...service,
    of: (trace, ...client) => {
      if (isClosed) return service.of(trace, ...client);
      // A poll of a subscription: what earlier ones found is not in the payload that this one may lead to.
      for (const list of [calls, pages]) list.splice(0);
      const { authorized, unauthenticated, bytesRead } = service.of(
        collectAttempts(trace),
        ...client,
      );
      return {
        bytesRead,
        unauthenticated: {
          post: (route, path, body, accepted, read) =>
            unauthenticated.post(route, path, body, accepted, (response) => {
              loginResponse = response;
              return read(response);
            }),
        },
        authorized: (bearer) => ({
          ...authorized(bearer),
          get: (route, path, read, options) => {
            // The total and the paging are explained, so the whole response is needed.
            const whole = { ...options, prefix: undefined };
            const collect: typeof read = (response) => {
              pages.push({ path, response });
              return read(response);
            };
            return authorized(bearer).get(route, path, collect, whole);
          },
        }),
      };
    },
  };
  /** A parameter that the client gave replaces one of the contract. */
  const onFilter: ContractServices['onFilter'] = (conditions, parameters) => {
    for (const [name, value] of Object.entries(conditions)) {
      const isForwarded = parameters.some(({ condition }) => condition === name);
      if (value != null) (isForwarded ? forwarded : checkedByGateway).add(name);
    }
  };

  const explainCall = ({ request, path, attempts }: Call, field: string, failure?: string) => {
    const [method] = request.split(' ');
    const shown = showPath(path, audit?.paging?.parameter);
    const last = attempts.at(-1);
    return {
      ...{ field, method, path: shown, attempts: attempts.length, status: last?.status },
      ms: Math.round(attempts.reduce((sum, { seconds }) => sum + 1000 * seconds, 0)),
      bytes: last?.bytes || undefined,
      sent: attempts.some(({ isSent }) => isSent) ? undefined : false,
      why: last === undefined ? failure : last.code && FAILURES[last.code],
      curl: method === 'GET' ? toCurl(service.url, shown, service.headerNames) : undefined,
    };
  };
  /** Reads the pages again. The first with records is described. */
  const describePages = () => {
    const read = pages.map((page) => readPage(service, page, { audit, errors }));
    const { completed, events: sample } =
      read.find(({ events }) => events.length > 0) ?? read.at(-1) ?? {};
    if (completed === undefined) return undefined;
    const { records, event, total, paging } = completed;
    const events = read.flatMap((page) => page.events);
    const described = describeMapping({ records, event, total, paging }, audit, events, sample);
    const parts: Readonly<Record<string, unknown>> = { ...described };
    const nulls = read.reduce((sum, page) => sum + page.nulls, 0);
    const why = read.flatMap(({ foreignLink }) => foreignLink ?? [])[0];
    return {
      ...parts,
      ...(nulls > 0 && { records: { ...Object(parts['records']), nulls } }),
      ...(why !== undefined && { paging: { ...Object(parts['paging']), why } }),
    };
  };

  return {
    client,
    onFilter,
    onDeletion: (reading: DeletionReading) => {
      deleted = reading;
    },
    /**
     * Explains a result with these errors, and ends the collection: a subscription goes on for hours.
     * @param reader The field that reads the trail.
     */
    explain: (reader: 'audit' | 'auditEvents', errors: readonly GraphQLError[] = []) => {
      isClosed = true;
      const fieldOf = ({ request }: Call) =>
        [reader, ...Object.keys(REQUESTS)].find((field) => REQUESTS[field] === request) ?? '';
      const explained = calls.map((call) => ({ call, field: fieldOf(call) }));
      const failures = new Map<string, string>();
      for (const { nodes, originalError } of errors) {
        const field = String(Object(nodes?.[0]).name?.value);
        const request = REQUESTS[field];
        if (request === undefined || !(originalError instanceof GatewayError)) continue;
        failures.set(field, originalError.message); // has no text of the service
        const [, template = ''] = request.split(' ');
        if (explained.every((other) => other.field !== field))
          explained.push({ field, call: { request, path: { template }, attempts: [] } });
      }
      const filter = { forwarded: [...forwarded], checkedByGateway: [...checkedByGateway] };
      return {
        calls: explained.map(({ call, field }) => explainCall(call, field, failures.get(field))),
        mapping: deleted
          ? { deletion: { outcome: describeDeletion(deleted) } }
          : loginResponse === undefined
            ? describePages()
            : { login: describeMapping(completeLogin(loginResponse, login), login) },
        filter: Object.values(filter).flat().length > 0 ? filter : undefined,
      };
    },
  };
}

/** A response to a request for a page of the trail. */
type Page = { readonly path: Path; readonly response: UpstreamResponse };

/** Reads a page of the trail, and why a link to the next page is not followed. */
function readPage(
  service: RestClient,
  { path, response }: Page,
  configured: Pick<ConfiguredContract, 'audit' | 'errors'>,
) {
  const completed = completeAudit(response, configured);
  try {
    const page = readAuditPage(completed, response, toRequest(path));
    const events = Array.from({ length: page.length }, (_, index) => page.item(index));
    const next = withoutPath(service, page.next(), page, path);
    const isForeign = next !== null && 'missing' in next && next.linkAt != null;
    const foreignLink = isForeign ? describeForeignLink(next.linkAt, next.missing) : undefined;
    return { completed, events, nulls: page.nulls, foreignLink };
  } catch {
    return { completed, events: [], nulls: 0, foreignLink: undefined }; // the field has failed for the same reason
  }
}

function toRequest({ value, query = [] }: Path): PageRequest {
  const position = query.find(({ shown }) => shown === 'page');
  const parameters = query.filter((parameter) => parameter !== position);
  if (position === undefined) return { token: null, parameters };
  const { name, value: text } = position;
  const token = name === '' ? { link: queryOf(value) } : { parameter: name, value: text };
  return { token, parameters };
}
