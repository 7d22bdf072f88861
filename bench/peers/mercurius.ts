import Fastify from 'fastify';
import mercurius from 'mercurius';
import { type Context, RESOLVERS, TYPE_DEFS } from './graph.ts';
import { createService } from './service.ts';

/* Mercurius on Fastify, each document compiled when it comes for the first time. */
declare module 'mercurius' {
  interface MercuriusContext extends Context {}
}

const service = createService();
const app = Fastify();
app.register(mercurius, {
  schema: TYPE_DEFS,
  resolvers: RESOLVERS,
  jit: 1,
  context: ({ headers: { authorization } }) => ({
    readAudit: () => service.readAudit(authorization),
    deleteKey: (clientId: string) => service.deleteKey(authorization, clientId),
  }),
});
await app.listen({ host: '127.0.0.1', port: Number(process.env['PORT']) });
