import { serverAudits } from 'graphql-http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Production, startProduction } from '../helpers/production.ts';

/** IDs of the audits that production fails on purpose, with the reason. One that passes must not be listed. */
const FAILS_ON_PURPOSE: Readonly<Record<string, string>> = {
  '2EA1': 'its document requests __type, which is introspection',
  '28B9': 'its document requests __type, which is introspection',
  D6D5: 'its document requests __type, which is introspection',
  '6A70': 'its document requests __type, which is introspection',
};

describe('the audits of graphql-http in production', () => {
  let production: Production;
  beforeAll(async () => {
    production = await startProduction('http://127.0.0.1:9');
  });
  afterAll(() => production[Symbol.asyncDispose]());

  const audits = serverAudits({ url: () => production.url });

  it('are 61', () => expect(audits).toHaveLength(61));

  it('include all that fail on purpose', () => {
    expect(audits.map(({ id }) => id)).toEqual(
      expect.arrayContaining(Object.keys(FAILS_ON_PURPOSE)),
    );
  });

  it.each(audits.map((audit) => [audit.id, expectedOf(audit.id), audit] as const))(
    '%s %s',
    async (id, _, audit) => {
      const { status } = await audit.fn();
      expect(status === 'ok').toBe(!(id in FAILS_ON_PURPOSE));
    },
  );
});

function expectedOf(id: string): string {
  const reason = FAILS_ON_PURPOSE[id];
  return reason === undefined ? 'passes' : `fails: ${reason}`;
}
