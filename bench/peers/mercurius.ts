import Fastify from 'fastify';
import mercurius from 'mercurius';
import { Pool } from 'undici';
import { type Context, checkStatus, RESOLVERS, TYPE_DEFS } from './schema.ts';

/*
 * Mercurius on Fastify. `jit: 1` compiles each document at its second request. With the argument `log`, pino writes a line
 * per request with what Keytrail's has.
 */
declare module 'mercurius' {
  interface MercuriusContext extends Context {}
}
declare module 'fastify' {
  interface FastifyRequest {
    operation?: 'query' | 'mutation';
    fields?: string;
  }
}

const pool = new Pool(process.env['UPSTREAM_URL'] ?? '', { connections: 64 });
const logs = process.argv.includes('log');
const app = Fastify({ logger: logs && { base: null }, disableRequestLogging: true });
if (logs)
  app.addHook('onResponse', ({ id, operation, fields, log }, { statusCode, elapsedTime }, done) => {
    const durationMs = Math.round(elapsedTime * 10) / 10;
    log.info({ requestId: id, operation, fields, status: statusCode, durationMs }, 'request');
    done();
  });
app.register(mercurius, {
  schema: TYPE_DEFS,
  resolvers: RESOLVERS,
  jit: 1,
  context: (request) => {
    const { authorization } = request.headers;
    const call = async (path: string, method: 'GET' | 'DELETE') => {
      const { statusCode, body } = await pool.request({ path, method, headers: { authorization } });
      const text = await body.text();
      checkStatus(statusCode);
      return text;
    };
    return {
      readAudit: async () => {
        Object.assign(request, { operation: 'query', fields: 'audit' });
        return JSON.parse(await call('/api/v1/audit', 'GET')).events;
      },
      deleteKey: (clientId: string) => {
        Object.assign(request, { operation: 'mutation', fields: 'deleteApiKey' });
        return call(`/api/v1/secrets/${encodeURIComponent(clientId)}`, 'DELETE');
      },
    };
  },
});
await app.listen({ host: '127.0.0.1', port: Number(process.env['PORT']) });
