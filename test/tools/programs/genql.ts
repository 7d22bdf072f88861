// Runs with the client that genql generated: logs in, reads a page, deletes a key, and prints a code.
import { createClient, GenqlError } from './generated/index.ts';

const url = process.argv[2] ?? '';
const anonymous = createClient({ url });
const { login } = await anonymous.mutation({
  login: {
    __args: {
      clientId: 'demo-admin',
      credential: { clientSecret: 'demo-admin-secret-5f2c9a71' },
    },
    accessToken: true,
  },
});
const client = createClient({ url, headers: { authorization: `Bearer ${login?.accessToken}` } });
const { audit } = await client.query({
  audit: {
    __args: { first: 2, filter: { actions: ['key.rotate'] } },
    nodes: { action: true, occurredAt: true, raw: { __args: { pointer: '/actor/id' } } },
  },
});
const occurredAt: string | null | undefined = audit?.nodes[0]?.occurredAt;
// @ts-expect-error It was not selected.
void audit?.nodes[0]?.ipAddress;
const { deleteApiKey } = await client.mutation({
  deleteApiKey: { __args: { clientId: 'demo-old-ci' }, outcome: true },
});
const failed = await anonymous.query({ audit: { totalCount: true } }).catch(codeOf);
process.stdout.write(
  JSON.stringify([audit?.nodes, typeof occurredAt, deleteApiKey?.outcome, failed]),
);

function codeOf(error: unknown): unknown {
  return error instanceof GenqlError ? error.errors[0]?.extensions?.['code'] : error;
}
