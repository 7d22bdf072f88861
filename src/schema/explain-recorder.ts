import type { GraphQLError } from 'graphql';
import { FAILURES, GatewayError } from '../errors.ts';
import { describeMapping } from '../inference/describe-mapping.ts';
import type { ConfiguredContract, LazyAuditContract, LoginContract } from '../mapping/contract.ts';
import type { AuditEvent, AuditPage } from '../mapping/event.ts';
import type { NextPage } from '../mapping/next-page.ts';
import { describeForeignLink } from '../pagination/fetch-pages.ts';
import { type EventFilter, filterParameters } from '../pagination/select-events.ts';
import { type Path, type QueryParameter, showPath, toCurl } from '../upstream/path.ts';
import type { Attempt, Trace } from '../upstream/types.ts';

/** The requests to the service, by the fields that send them. */
const REQUESTS: Readonly<Record<string, string>> = {
  login: 'POST /api/v1/auth/login',
  audit: 'GET /api/v1/audit',
  auditEvents: 'GET /api/v1/audit',
  deleteApiKey: 'DELETE /api/v1/secrets/{client_id}',
};

/** A call to the service, or a field that failed before its call. */
type Call = {
  readonly field: string;
  readonly path: Omit<Path, 'value'>;
  readonly attempts: Attempt[];
};

/** Records what a request does, to explain it. What it shows contains no value of the client or the service. */
export type Recorder = ReturnType<typeof createRecorder>;

/** Creates the recorder of one request. */
export function createRecorder(baseUrl: string, contract: ConfiguredContract, trace: Trace) {
  const { audit, login } = contract;
  const calls: Call[] = [];
  const events: AuditEvent[] = [];
  const [forwarded, checkedByGateway] = [new Set<string>(), new Set<string>()];
  let describe = (): object | undefined => undefined;
  let foreignLink: string | undefined;
  let isClosed = false;

  const explainCall = ({ field, path, attempts }: Call, failure: string | undefined) => {
    const [method] = REQUESTS[field]?.split(' ') ?? [];
    const shown = showPath(path, audit?.paging?.parameter);
    const last = attempts.at(-1);
    return {
      ...{ field, method, path: shown, attempts: attempts.length, status: last?.status },
      ms: Math.round(attempts.reduce((sum, { seconds }) => sum + 1000 * seconds, 0)),
      bytes: last?.bytes || undefined,
      sent: attempts.some(({ isSent }) => isSent) ? undefined : false,
      why: last === undefined ? failure : last.code && FAILURES[last.code],
      curl: method === 'GET' ? toCurl(baseUrl, shown) : undefined,
    };
  };

  return {
    /** Begins a poll of a subscription. What earlier ones found is not in the payload that this one may lead to. */
    begin: () => {
      calls.splice(0);
      events.splice(0);
      describe = () => undefined;
      foreignLink = undefined;
    },
    /** The trace of the request, in which calls are recorded. `reader` is the field that reads the trail. */
    traceOf: (reader: 'audit' | 'auditEvents'): Trace => ({
      ...trace,
      beginCall: (method, path) => {
        if (isClosed) return undefined;
        const isOwn = (field: string) => REQUESTS[field] === `${method} ${path.template}`;
        const field = [reader, ...Object.keys(REQUESTS)].find(isOwn) ?? '';
        const attempts: Attempt[] = [];
        calls.push({ field, path, attempts });
        return (attempt) => void attempts.push(attempt);
      },
    }),
    /** Adds a page of the trail, or a response without records. The first with records is described. */
    addPage: (completed: LazyAuditContract, page?: AuditPage) => {
      if (isClosed) return;
      const { records, event, total, paging } = completed;
      const trail = { records, event, total, paging };
      if (events.length === 0) describe = () => describeMapping(trail, audit, events.splice(0));
      for (let index = 0; page !== undefined && index < page.length; index += 1)
        events.push(page.item(index));
    },
    /** Adds how the next page is requested. */
    addNext: (next: NextPage) => {
      if (next !== null && 'missing' in next && next.linkAt != null)
        foreignLink ??= describeForeignLink(next.linkAt, next.missing);
    },
    addLogin: (completed: LoginContract) => {
      describe = () => ({ login: describeMapping(completed, login) });
    },
    /** Adds a filter. A parameter that the client gave replaces one of the contract. */
    addFilter: (conditions: EventFilter, given: readonly QueryParameter[]) => {
      for (const [name, value] of Object.entries(conditions)) {
        const own = filterParameters({ [name]: value }, audit?.parameters);
        const isForwarded = own.some((one) => given.every((other) => other.name !== one.name));
        if (value != null) (isForwarded ? forwarded : checkedByGateway).add(name);
      }
    },
    /** Explains a result with these errors, and ends the record: a subscription goes on for hours. */
    explain: (errors: readonly GraphQLError[] = []) => {
      isClosed = true;
      const failures = new Map<string, string>();
      for (const { nodes, originalError } of errors) {
        const field = String(Object(nodes?.[0]).name?.value);
        const [, template] = REQUESTS[field]?.split(' ') ?? [];
        if (template === undefined || !(originalError instanceof GatewayError)) continue;
        failures.set(field, originalError.message); // a fixed sentence
        const hasCall = calls.some((call) => call.field === field);
        if (!hasCall) calls.push({ field, path: { template }, attempts: [] });
      }
      const filter = { forwarded: [...forwarded], checkedByGateway: [...checkedByGateway] };
      return {
        calls: calls.map((call) => explainCall(call, failures.get(call.field))),
        mapping: withLink(describe(), foreignLink),
        filter: Object.values(filter).flat().length > 0 ? filter : undefined,
      };
    },
  };
}

/** Says why a link to the next page is not followed. */
function withLink(mapping: object | undefined, why: string | undefined): object | undefined {
  if (mapping === undefined || why === undefined || !('paging' in mapping)) return mapping;
  return { ...mapping, paging: { ...Object(mapping.paging), why } };
}
