import { type AugmentedRequest, RESTDataSource } from '@apollo/datasource-rest';
import { ApolloServer } from '@apollo/server';
import fastifyApollo, { fastifyApolloDrainPlugin } from '@as-integrations/fastify';
import Fastify from 'fastify';
import type { TrailRecord } from '../loads.ts';
import { type Context, RESOLVERS, TYPE_DEFS } from './schema.ts';

/* Apollo Server on Fastify: its documentation recommends a framework for production. */
class ServiceApi extends RESTDataSource implements Context {
  override readonly baseURL = process.env['UPSTREAM_URL'] ?? '';
  private readonly authorization: string | undefined;

  constructor(options: ConstructorParameters<typeof RESTDataSource>[0], authorization?: string) {
    super(options);
    this.authorization = authorization;
  }

  override willSendRequest(_path: string, request: AugmentedRequest): void {
    if (this.authorization !== undefined) request.headers['authorization'] = this.authorization;
  }

  async readAudit(): Promise<readonly TrailRecord[]> {
    return (await this.get('/api/v1/audit')).events;
  }

  deleteKey(clientId: string): Promise<unknown> {
    return this.delete(`/api/v1/secrets/${encodeURIComponent(clientId)}`);
  }
}

const app = Fastify();
const server = new ApolloServer<Context>({
  typeDefs: TYPE_DEFS,
  resolvers: RESOLVERS,
  plugins: [fastifyApolloDrainPlugin(app)],
});
await server.start();
await app.register(fastifyApollo(server), {
  context: async ({ headers: { authorization } }) =>
    new ServiceApi({ cache: server.cache }, authorization),
});
await app.listen({ host: '127.0.0.1', port: Number(process.env['PORT']) });
