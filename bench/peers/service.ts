import { GraphQLError } from 'graphql';
import { Pool } from 'undici';
import type { TrailRecord } from '../records.ts';

/** The service, as a resolver written by hand calls it: with the caller's token, over connections that are kept. */
export type Service = {
  /** The events of the trail. */
  readAudit(authorization: string | undefined): Promise<readonly TrailRecord[]>;
  deleteKey(authorization: string | undefined, clientId: string): Promise<void>;
};

/** Calls the service of the environment by undici's Pool. */
export function createService(): Service {
  const pool = new Pool(process.env['UPSTREAM_URL'] ?? '', { connections: 64 });
  return {
    readAudit: async (authorization) => {
      const { statusCode, body } = await pool.request({
        path: '/api/v1/audit',
        method: 'GET',
        headers: { authorization },
      });
      const answer = await body.json();
      check(statusCode);
      return (answer as { readonly events: readonly TrailRecord[] }).events; // as the service documents it
    },
    deleteKey: async (authorization, clientId) => {
      const { statusCode, body } = await pool.request({
        path: `/api/v1/secrets/${encodeURIComponent(clientId)}`,
        method: 'DELETE',
        headers: { authorization },
      });
      await body.dump();
      check(statusCode);
    },
  };
}

/** @throws GraphQLError for a status that is no success. */
export function check(status: number): void {
  if (status < 300) return;
  const code = status === 401 ? 'UNAUTHENTICATED' : 'UPSTREAM_ERROR';
  throw new GraphQLError(`The service answered ${status}.`, { extensions: { code } });
}
