import { ClientError, GraphQLClient } from 'graphql-request';
import { DeleteApiKeyDocument } from 'keytrail-client';

/** Creates a client that sends an access token. */
export const createClient = (url: string, token: string) =>
  new GraphQLClient(url, { headers: { authorization: `Bearer ${token}` } });

/** Deletes an API key, and says what happened to it. */
export async function deleteApiKey(client: GraphQLClient, clientId: string): Promise<string> {
  try {
    const { deleteApiKey } = await client.request(DeleteApiKeyDocument, { clientId });
    return deleteApiKey?.outcome === 'ACCEPTED' ? 'will be deleted' : 'is deleted';
  } catch (error) {
    if (!(error instanceof ClientError)) throw error; // no response
    const [failure] = error.response.errors ?? [];
    switch (failure?.extensions['code']) {
      case 'NOT_FOUND':
        return 'does not exist';
      case 'OUTCOME_UNKNOWN':
        return 'may be deleted: check the audit trail';
      default:
        throw new Error(failure?.message); // not `error`: its message contains the variables
    }
  }
}
