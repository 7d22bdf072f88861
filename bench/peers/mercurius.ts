import Fastify from 'fastify';
import mercurius from 'mercurius';
import { Pool } from 'undici';
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
  context: ({ headers: { authorization } }) => {
    const call = async (path: string, method: 'GET' | 'DELETE') => {
      const { statusCode, body } = await pool.request({ path, method, headers: { authorization } });
      const text = await body.text();
      checkStatus(statusCode);
      return text;
    };
    return {
      readAudit: async () => JSON.parse(await call('/api/v1/audit', 'GET')).events,
      deleteKey: (clientId: string) =>
        call(`/api/v1/secrets/${encodeURIComponent(clientId)}`, 'DELETE'),
    };
  },
});
await app.listen({ host: '127.0.0.1', port: Number(process.env['PORT']) });
