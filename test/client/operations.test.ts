import { Kind, parse, visit } from 'graphql';
import { describe, expect, it } from 'vitest';
import { AuditDocument, AuditEventsDocument } from '../../src/client/operations.generated.ts';
import { AUDIT_EVENT } from '../../src/gateway/mapping/event-fields.ts';

describe('the operations of the client', () => {
  it.each([AuditDocument, AuditEventsDocument])('read every field of an event', (document) => {
    const names = new Set<string>();
    visit(parse(String(document)), {
      Field: ({ name, selectionSet }) => {
        if (name.value !== 'nodes') return;
        for (const field of selectionSet?.selections ?? [])
          if (field.kind === Kind.FIELD) names.add(field.name.value);
      },
    });
    expect([...names]).toEqual(expect.arrayContaining(Object.keys(AUDIT_EVENT)));
  });
});
