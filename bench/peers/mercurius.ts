import Fastify from 'fastify';
import mercurius from 'mercurius';
import { Pool } from 'undici';
import type { TrailRecord } from '../loads.ts';
import { type Context, checkStatus, RESOLVERS, TYPE_DEFS } from './schema.ts';

/* Mercurius on Fastify. `jit: 1` compiles each document at its second request. */
declare module 'mercurius' {
  interface MercuriusContext extends Context {}
}

const pool = new Pool(process.env['UPSTREAM_URL'] ?? '', { connections: 64 });
const app = Fastify();
app.register(mercurius, {
  schema: TYPE_DEFS,
  resolvers: RESOLVERS,
  jit: 1,
  context: ({ headers: { authorization } }) => ({
    readAudit: async () => {
      const { statusCode, body } = await pool.request({
        path: '/api/v1/audit',
        method: 'GET',
        headers: { authorization },
      });
      const trail = await body.json();
      checkStatus(statusCode);
      return (trail as { readonly events: readonly TrailRecord[] }).events; // as the service documents it
    },
    deleteKey: async (clientId: string) => {
      const { statusCode, body } = await pool.request({
        path: `/api/v1/secrets/${encodeURIComponent(clientId)}`,
        method: 'DELETE',
        headers: { authorization },
      });
      await body.dump();
      checkStatus(statusCode);
    },
  }),
});
await app.listen({ host: '127.0.0.1', port: Number(process.env['PORT']) });
