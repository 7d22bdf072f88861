import type { AuditContract, Partially } from '../reading/contract.ts';
import type { Filter } from './filter.ts';

/**
 * The conditions that the service can check itself, by its own query parameters. Every event is checked here as well,
 * so a parameter may let through too much, never too little: several actions are not forwarded.
 */
export function toParameters(
  { since, until, actions, actor }: Filter,
  names: Partially<AuditContract['parameters']> = {},
): readonly { readonly name: string; readonly value: string }[] {
  const values = {
    since,
    until,
    actor,
    action: actions?.length === 1 ? actions[0] : null,
  };
  return (['since', 'until', 'actor', 'action'] as const).flatMap((condition) => {
    const [name, value] = [names[condition], values[condition]];
    return name == null || value == null ? [] : [{ name, value }];
  });
}

/** Asks for large pages where the contract names the parameter, so that there are few. */
export function pageSize(configured: Partially<AuditContract> = {}) {
  const name = configured.paging?.size;
  return name == null ? [] : [{ name, value: '100' }];
}
