import type { TrailRecord } from '../records.ts';

/** A record as Keytrail's schema has it. */
export function project({ id, action, actor, target, ...record }: TrailRecord) {
  return {
    id,
    occurredAt: record.occurred_at,
    action,
    outcome: record.outcome === 'success' ? 'SUCCESS' : 'FAILURE',
    ipAddress: record.ip_address,
    userAgent: record.user_agent,
    actor: { id: actor.id, name: actor.name, type: actor.type },
    target: { id: target.id, name: target.name, type: target.type },
  };
}
