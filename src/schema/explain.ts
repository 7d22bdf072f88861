import type { GraphQLError } from 'graphql';
import { FAILURES, GatewayError } from '../errors.ts';
import { describeMapping } from '../inference/describe-mapping.ts';
import type { AuditPage } from '../mapping/audit-page.ts';
import type { ConfiguredContract, LazyAuditContract, LoginContract } from '../mapping/contract.ts';
import type { AuditEvent } from '../mapping/event.ts';
import { type EventFilter, filterParameters } from '../pagination/select-events.ts';
import { type Path, type QueryParameter, showPath, toCurl } from '../upstream/path.ts';
import type { Trace } from '../upstream/types.ts';

/** The requests to the service, by the fields that send them. */
const REQUESTS: Readonly<Record<string, string>> = {
  login: 'POST /api/v1/auth/login',
  audit: 'GET /api/v1/audit',
  auditEvents: 'GET /api/v1/audit',
  deleteApiKey: 'DELETE /api/v1/secrets/{client_id}',
};

/** One call, as far as it got. JSON omits what is undefined. */
type Call = Record<'attempts' | 'ms', number> &
  Record<'status' | 'bytes', number | undefined> & {
    readonly field: string;
    sent: false | undefined;
    why: string | undefined;
  };

/** Records what a request does, to explain it. What it shows contains no value of the client or the service. */
export type Recorder = ReturnType<typeof createRecorder>;

/** Creates the recorder of one request. `clock` is monotonic time in milliseconds. */
export function createRecorder(
  baseUrl: string,
  { audit, login }: ConfiguredContract,
  { trace, clock }: { readonly trace: Trace; readonly clock: () => number },
) {
  const calls: Call[] = [];
  const events: AuditEvent[] = [];
  const [forwarded, checkedByGateway] = [new Set<string>(), new Set<string>()];
  let trail: LazyAuditContract | undefined;
  let ofLogin: object | null = null;
  let isClosed = false;

  const addCall = (field: string, to: Omit<Path, 'value'>): Call => {
    const [method] = REQUESTS[field]?.split(' ') ?? [];
    const path = showPath(to, audit?.paging?.parameter);
    const curl = method === 'GET' ? toCurl(baseUrl, path) : undefined;
    const request = { field, method, path, attempts: 0, status: undefined, ms: 0 };
    const call = { ...request, bytes: undefined, sent: false as const, why: undefined, curl };
    calls.push(call);
    return call;
  };

  return {
    /** The trace of the request, in which calls are recorded. `reader` is the field that reads the trail. */
    traceOf: (reader: 'audit' | 'auditEvents'): Trace => ({
      ...trace,
      beginCall: (method, path) => {
        if (isClosed) return undefined;
        const request = `${method} ${path.template}`;
        const field = Object.keys(REQUESTS).find((name) => REQUESTS[name] === request) ?? '';
        const call = addCall(field === 'audit' ? reader : field, path);
        const begun = clock();
        return ({ status, code, bytes, isSent }) => {
          call.attempts += 1;
          call.ms = Math.round(clock() - begun);
          call.status = status;
          call.why = code && FAILURES[code];
          if (bytes > 0) call.bytes = bytes;
          if (isSent) call.sent = undefined;
        };
      },
    }),
    /** Adds a page of the trail, or a response without records. The first with records is described. */
    addPage: (completed: LazyAuditContract, page?: AuditPage) => {
      if (isClosed) return;
      if (events.length === 0) trail = completed;
      for (let index = 0; page !== undefined && index < page.length; index += 1)
        events.push(page.item(index));
    },
    addLogin: (completed: LoginContract) => {
      ofLogin = describeMapping(completed, login, []);
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
      for (const { nodes: [node] = [], originalError } of errors) {
        const field = node !== undefined && 'name' in node ? (node.name?.value ?? '') : '';
        const [, template] = REQUESTS[field]?.split(' ') ?? [];
        if (template === undefined || !(originalError instanceof GatewayError)) continue;
        // A field that failed before its call, such as a login above the limit.
        if (calls.every((call) => call.field !== field)) addCall(field, { template });
        for (const call of calls) // its message is a fixed sentence
          if (call.field === field && call.attempts === 0) call.why ??= originalError.message;
      }
      const filter = { forwarded: [...forwarded], checkedByGateway: [...checkedByGateway] };
      const isFiltered = forwarded.size + checkedByGateway.size > 0;
      const ofTrail = trail && describeTrail(trail, audit, events.splice(0));
      const mapping = ofTrail ?? (ofLogin && { login: ofLogin });
      return { calls, ...(mapping && { mapping }), ...(isFiltered && { filter }) };
    },
  };
}

function describeTrail(
  { records, event, total, paging }: LazyAuditContract,
  audit: ConfiguredContract['audit'],
  events: readonly AuditEvent[],
) {
  const { style, next, more, position, pages } = paging();
  const by = audit?.paging?.style === undefined ? 'inference' : 'contract';
  const pointers = describeMapping({ next, more, position, pages }, audit?.paging, []);
  const described = describeMapping({ records, event, total }, audit, events);
  return { ...described, paging: { style, by, ...pointers } };
}
