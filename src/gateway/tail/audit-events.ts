import type { GraphQLResolveInfo } from 'graphql';
import { GatewayError } from '../../errors.ts';
import { digest } from '../../util/digest.ts';
import type { AuditEvent } from '../mapping/event.ts';
import { DIGEST_LENGTH } from '../pagination/find-item.ts';
import { requireFilterFields } from '../pagination/require-fields.ts';
import { matchesFilter } from '../pagination/select-events.ts';
import {
  listAudit,
  readTrailArguments,
  type TrailArguments,
  trailArguments,
} from '../schema/audit.ts';
import { type Builder, UPSTREAM_CODES } from '../schema/builder.ts';
import { type Context, MAX_VALUES } from '../schema/context.ts';
import type { PageLoader } from '../schema/page-loader.ts';
import { measureBelow } from '../schema/selection.ts';
import type { QueryParameter } from '../upstream/path.ts';
import { type Checkpoint, decodeCheckpoint, encodeCheckpoint } from './checkpoint.ts';
import { createPollStream, type StreamItem } from './poll-stream.ts';
import { type Poll, pollTail } from './poll-tail.ts';
import type { TailEvent } from './read-list.ts';
import type { OpenStream } from './streams.ts';

/** New events of the audit trail. */
type AuditEventBatch = {
  readonly nodes: readonly AuditEvent[];
  readonly checkpoint: string;
  readonly previous: string | null;
  readonly missed: boolean;
  readonly hasMore: boolean;
};

/** Seconds between two polls. */
const EVERY = { min: 5, max: 300, default: 10 } as const;

/** Events of one payload, at most. More are sent in several. */
const MAX_EVENTS = 1000;

/**
 * Polls in a row without a pause that found no event. It bounds a list whose pages lead back to earlier ones. 16: enough
 * for 64 known records on pages of one record, as each poll reads four new pages.
 */
const MAX_IDLE_POLLS = 16;

/** Adds `Subscription.auditEvents`. Polls GET /api/v1/audit. */
export function addAuditEvents(builder: Builder, openStream: OpenStream): void {
  const Batch = builder.objectRef<AuditEventBatch>('AuditEventBatch').implement({
    description: 'New events of the audit trail.',
    fields: (t) => ({
      nodes: t.field({
        type: ['AuditEvent'],
        description: 'The events that meet the filter, in order of arrival.',
        resolve: ({ nodes }) => nodes,
      }),
      checkpoint: t.exposeString('checkpoint', {
        description:
          'Pass it to `after`, on any connection and any replica, to continue after these events.',
      }),
      previous: t.exposeString('previous', {
        nullable: true,
        description:
          'The checkpoint that these events follow. If it is not the one you have, a payload was lost on the way. Null in the first payload of a stream without `after`.',
      }),
      missed: t.exposeBoolean('missed', {
        description:
          'Whether events may have been missed: none of the known records was found any more. If it is true at every poll, a member of the records differs in each response: set `audit.identity` in the contract.',
      }),
      hasMore: t.exposeBoolean('hasMore', {
        description:
          'Whether another payload follows at once. False once the stream has caught up with the trail.',
      }),
    }),
  });

  builder.subscriptionType({
    description:
      'Streams, sent as server-sent events. A stream that fails ends with null and the reason in `errors`.',
  });
  builder.subscriptionField('auditEvents', (t) =>
    t.field({
      type: Batch,
      nullable: true,
      description: `New events of the audit trail, in order of arrival, each once. Polls GET /api/v1/audit. A record that arrives after at most 32 newer ones is delivered, too. The first payload comes at once, and has events only after \`after\` or \`filter.since\`. Codes: ${UPSTREAM_CODES}.`,
      args: {
        after: t.arg.string({
          description:
            'A checkpoint of an earlier payload. Null starts now or, with `filter.since`, at that instant.',
        }),
        ...trailArguments(builder),
        every: t.arg.int({
          defaultValue: EVERY.default,
          description: `Seconds between two polls, ${EVERY.min} to ${EVERY.max}. Null means the default.`,
        }),
      },
      subscribe: (_, args, context, info) => subscribe(args, context, info, openStream),
      resolve: (item) => {
        if ('error' in item) throw item.error;
        return item.payload;
      },
    }),
  );
}

/** What follows the beginning of a response is not needed, however long it is. */
const PREFIX = { isLengthNeeded: false } as const;

type Arguments = TrailArguments & {
  readonly after?: string | null | undefined;
  readonly every?: number | null | undefined;
};

function subscribe(
  { after, every, ...args }: Arguments,
  context: Context,
  info: GraphQLResolveInfo,
  openStream: OpenStream,
): AsyncIterableIterator<StreamItem<AuditEventBatch>> {
  const { calls, contract } = context;
  const { order = null, parameters: names } = contract.configured.audit ?? {};
  const { conditions, forwarded, parameters, listSelected } = readTrailArguments(args, context);
  const seconds = every ?? EVERY.default;
  if (seconds < EVERY.min || seconds > EVERY.max) {
    const message = `\`every\` must be between ${EVERY.min} and ${EVERY.max} seconds.`;
    throw new GatewayError('BAD_USER_INPUT', { message });
  }
  const selection = digestOf(listSelected());
  let checkpoint = after == null ? null : requireSelection(decodeCheckpoint(after), selection);
  let previous = after ?? null;

  const { fields, keyLength } = measureBelow(info);
  const size = Math.min(MAX_EVENTS, Math.max(1, Math.floor(MAX_VALUES / fields)));
  // A field has at most the whole record. The 16 are punctuation and short literals.
  const maxLengthOf = ({ length }: TailEvent) => fields * (length + 16) + keyLength;
  const matches = matchesFilter(conditions);
  const require = requireFilterFields(conditions);
  const since = conditions.since ?? null;
  const isSinceForwarded = since !== null && forwarded.some(({ name }) => name === names?.since);

  let isExpected = true; // the first payload, and the one that ends what `hasMore` has announced
  const toPayloads = (found: Poll, isBehind: boolean): readonly AuditEventBatch[] => {
    const isDue = previous === null || (isExpected && !isBehind);
    if (found.events.length === 0 && !found.missed && !isDue) return [];
    const payloads: AuditEventBatch[] = [];
    let nodes: AuditEvent[] = [];
    let length = 0;
    const flush = (count: number) => {
      const encoded = encodeCheckpoint(found.checkpointAfter(count));
      const missed = found.missed && payloads.length === 0;
      const hasMore = isBehind || count < found.events.length;
      payloads.push({ nodes, checkpoint: encoded, previous, missed, hasMore });
      previous = encoded;
      nodes = [];
      length = 0;
    };
    for (const [index, each] of found.events.entries()) {
      if (!matches(each.event)) continue;
      const own = maxLengthOf(each);
      const isFull = nodes.length === size || length + own > stream.maxPayloadLength;
      if (nodes.length > 0 && isFull) flush(index);
      nodes.push(each.event);
      length += own;
    }
    flush(found.events.length);
    isExpected = isBehind;
    return payloads;
  };
  let [idlePolls, emptyPolls] = [0, 0];
  const stream = openStream(context);
  let pages: PageLoader | undefined; // of the last poll, until its payloads were taken
  return createPollStream({
    everyMs: 1000 * seconds,
    ...{ failsFast: context.failsFast, stream },
    release: () => {
      pages?.release();
      pages = undefined;
    },
    poll: async (signal) => {
      pages = calls.createPageLoader(signal);
      const list = listAudit(pages, contract, parameters, PREFIX);
      const options = { checkpoint, order, since, isSinceForwarded, selection };
      const found = await pollTail(list, options);
      await require(found.pages, false); // that there is nothing new says nothing
      checkpoint = found.checkpointAfter(found.events.length);
      const isIdle = found.isBehind && found.events.length === 0;
      const isEmpty = isIdle && found.pages.every(({ length }) => length === 0);
      idlePolls = isIdle ? idlePolls + 1 : 0;
      emptyPolls = isEmpty ? emptyPolls + 1 : 0;
      // Pages without records may have no end: some services return a new cursor with each.
      const hasMore = found.isBehind && emptyPolls < MAX_IDLE_POLLS;
      return {
        payloads: toPayloads(found, hasMore),
        isBehind: hasMore && idlePolls <= MAX_IDLE_POLLS,
      };
    },
  });
}

/** Empty without parameters, which is usual. */
function digestOf(parameters: readonly QueryParameter[]): string {
  if (parameters.length === 0) return '';
  return digest(JSON.stringify(parameters.map(({ name, value }) => [name, value])), DIGEST_LENGTH);
}

function requireSelection(checkpoint: Checkpoint, selection: string): Checkpoint {
  if (checkpoint.selection === selection) return checkpoint;
  throw new GatewayError('BAD_USER_INPUT', {
    message:
      '`after` is a checkpoint of a stream with another filter or other parameters, which the service itself applies: use those, or start without `after`.',
  });
}
