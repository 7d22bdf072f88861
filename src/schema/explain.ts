import type { GraphQLError } from 'graphql';
import { FAILURES, GatewayError } from '../errors.ts';
import { describeMapping } from '../inference/describe-mapping.ts';
import type { AuditPage } from '../mapping/audit-page.ts';
import type { ConfiguredContract, LazyAuditContract, LoginContract } from '../mapping/contract.ts';
import type { AuditEvent } from '../mapping/event.ts';
import { type EventFilter, filterParameters } from '../pagination/select-events.ts';
import { type Path, type QueryParameter, showPath, toCurl } from '../upstream/path.ts';
import type { Calls, RestClient } from '../upstream/rest-client.ts';
import type { Trace } from '../upstream/types.ts';

/** What the fields that call the service send. */
const REQUESTS: Readonly<Record<string, string>> = {
  login: 'POST /api/v1/auth/login',
  audit: 'GET /api/v1/audit',
  auditEvents: 'GET /api/v1/audit',
  deleteApiKey: 'DELETE /api/v1/secrets/$PARAMETER',
};

/** Records what a request does, to explain it. What it shows contains no value of the client or the service. */
export type Recorder = ReturnType<typeof createRecorder>;

/** Creates the recorder of one request. `clock` is monotonic time in milliseconds. */
export function createRecorder(
  client: RestClient,
  { audit, login }: ConfiguredContract,
  { trace, clock }: { readonly trace: Trace; readonly clock: () => number },
) {
  const calls: ReturnType<typeof newCall>[] = [];
  const events: AuditEvent[] = [];
  const [forwarded, checkedByGateway] = [new Set<string>(), new Set<string>()];
  let trail: LazyAuditContract | undefined;
  let loginMapping: object | null = null;
  let isClosed = false;

  const record = async <Result>(
    field: string,
    of: Calls,
    to: Path,
    send: (calls: Calls) => Promise<Result>,
  ): Promise<Result> => {
    if (isClosed) return send(of);
    const call = newCall(field, showPath(to, audit?.paging?.parameter));
    if (call.method === 'GET') call.curl = toCurl(client.url, call.path);
    calls.push(call);
    const begun = clock();
    try {
      return await send(client.of(observe(trace, call), of.group));
    } catch (error) {
      const isExpected = error instanceof GatewayError; // its message is a fixed sentence
      const why = isExpected ? error.message : FAILURES.INTERNAL_SERVER_ERROR;
      if (call.status === undefined) call.why = why;
      throw error;
    } finally {
      call.ms = Math.round(clock() - begun);
    }
  };

  return {
    /** The same calls, recorded. `field` is the one that needs the trail. */
    over: (of: Calls, field: 'audit' | 'auditEvents'): Calls => ({
      ...of,
      unauthenticated: {
        post: (route, to, ...rest) =>
          record('login', of, to, (own) => own.unauthenticated.post(route, to, ...rest)),
      },
      authorized: (bearer) => ({
        get: (route, to, options) =>
          record(field, of, to, (own) => own.authorized(bearer).get(route, to, options)),
        delete: (route, to) =>
          record('deleteApiKey', of, to, (own) => own.authorized(bearer).delete(route, to)),
      }),
    }),
    /** Adds a page of the trail, or a response without records. The first with records is described. */
    addPage: (completed: LazyAuditContract, page?: AuditPage) => {
      if (isClosed) return;
      if (events.length === 0) trail = completed;
      for (let index = 0; page !== undefined && index < page.length; index += 1)
        events.push(page.item(index));
    },
    addLogin: (completed: LoginContract) => {
      loginMapping = describeMapping(completed, login, []);
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
      const shown = [...calls, ...findUnsent(errors, calls)];
      const mapping = trail && describeTrail(trail, audit, events.splice(0));
      return {
        calls: shown,
        ...(loginMapping && { mapping: { login: loginMapping } }),
        ...(mapping && { mapping }),
        ...(forwarded.size + checkedByGateway.size > 0 && {
          filter: { forwarded: [...forwarded], checkedByGateway: [...checkedByGateway] },
        }),
      };
    },
  };
}

/** One call, as far as it got. JSON omits what is undefined. */
function newCall(field: string, shownPath?: string) {
  const [method = '', path = ''] = REQUESTS[field]?.split(' ') ?? [];
  return {
    ...{ field, method, path: shownPath ?? path, attempts: 0 },
    ...{ status: undefined as number | undefined, ms: 0, bytes: undefined as number | undefined },
    sent: false as false | undefined,
    ...{ why: undefined as string | undefined, curl: undefined as string | undefined },
  };
}

/** Records the attempts of a call. */
function observe(trace: Trace, call: ReturnType<typeof newCall>): Trace {
  return {
    startAttempt: (start) => {
      const { headers, end } = trace.startAttempt(start);
      return {
        headers,
        end: (attempt) => {
          call.attempts += 1;
          call.status = attempt.status;
          if (attempt.bytes > 0) call.bytes = attempt.bytes;
          if (attempt.isSent) call.sent = undefined;
          end(attempt);
        },
      };
    },
  };
}

/** The fields that failed before they made a call, such as a login above the limit. */
function findUnsent(errors: readonly GraphQLError[], calls: readonly { readonly field: string }[]) {
  return errors.flatMap(({ nodes: [node] = [], originalError }) => {
    const field = node !== undefined && 'name' in node ? (node.name?.value ?? '') : '';
    const isCall = Object.hasOwn(REQUESTS, field) && originalError instanceof GatewayError;
    if (!isCall || calls.some((call) => call.field === field)) return [];
    return [{ ...newCall(field), why: originalError.message }];
  });
}

function describeTrail(
  { records, event, total, paging }: LazyAuditContract,
  audit: ConfiguredContract['audit'],
  events: readonly AuditEvent[],
) {
  const { style, next, more, position, pages } = paging();
  const by = audit?.paging?.style === undefined ? 'inference' : 'contract';
  const pointers = describeMapping({ next, more, position, pages }, audit?.paging, []);
  return {
    ...describeMapping({ records, event, total }, audit, events),
    paging: { style, by, ...pointers },
  };
}
