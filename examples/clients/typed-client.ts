// The typed client of the package: deletes a key and handles each error code.
// Run it: npx node examples/clients/typed-client.ts
import { DeleteApiKeyDocument, LoginDocument, OperationError, request } from 'keytrail/client';
import { clientId, clientSecret, reportFailure, url } from './settings.ts';

reportFailure();

const key = process.env['KEY_TO_DELETE'] ?? 'demo-old-ci';

const credential = { clientSecret }; // or { refreshToken }; the types allow only one of them
const { data, errors: problems } = await request(LoginDocument, { clientId, credential }, { url });
const token = data?.login?.accessToken;
if (token === undefined) throw new Error(problems?.[0]?.message);

const deletion = request(DeleteApiKeyDocument, { clientId: key }, { url, token });
const { data: deleted, errors } = await deletion.catch((thrown: unknown) => {
  // The connection to the gateway was lost, and the key may be deleted.
  if (thrown instanceof OperationError && thrown.extensions.code)
    return { data: null, errors: [thrown] };
  throw thrown;
});
const [error] = errors ?? [];
switch (error?.extensions?.code) {
  case undefined:
    console.log(key, deleted?.deleteApiKey?.outcome);
    break;
  case 'NOT_FOUND':
    console.log(key, 'does not exist: nothing to do');
    break;
  case 'RATE_LIMITED':
    console.log(key, 'can be deleted in', error?.extensions?.retryAfterSeconds, 'seconds');
    break;
  case 'OUTCOME_UNKNOWN':
    console.log(key, 'may have been deleted: check the audit trail before you retry');
    break;
  default:
    throw new Error(error?.message);
}
