import { serverAudits } from 'graphql-http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Production, startProduction } from '../helpers/production.ts';

/** The audits that production fails by intent, by id, each with its reason. One that passes does not belong here. */
const FAILS_BY_INTENT: Readonly<Record<string, string>> = {
  '2EA1': 'its document asks for __type, which is introspection',
  '28B9': 'its document asks for __type, which is introspection',
  D6D5: 'its document asks for __type, which is introspection',
  '6A70': 'its document asks for __type, which is introspection',
};

describe('graphql-http audits, of which production', () => {
  let production: Production;
  beforeAll(async () => {
    production = await startProduction('http://127.0.0.1:9');
  });
  afterAll(() => production[Symbol.asyncDispose]());

  const audits = serverAudits({ url: () => production.url });

  it('faces 61', () => expect(audits).toHaveLength(61));

  it('fails none by intent that does not exist', () => {
    expect(audits.map(({ id }) => id)).toEqual(
      expect.arrayContaining(Object.keys(FAILS_BY_INTENT)),
    );
  });

  it.each(audits.map((audit) => [audit.id, expectedOf(audit.id), audit] as const))(
    '%s %s',
    async (id, _, audit) => {
      const { status } = await audit.fn();
      expect(status === 'ok').toBe(!(id in FAILS_BY_INTENT));
    },
  );
});

function expectedOf(id: string): string {
  const reason = FAILS_BY_INTENT[id];
  return reason === undefined ? 'passes' : `fails: ${reason}`;
}
