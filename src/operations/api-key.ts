import { builder, windowArguments } from '../builder.ts';
import { path, withQuery } from '../rest/path.ts';
import { selectConcerning } from '../window/filter.ts';
import { readPage } from '../window/page.ts';
import { pageSize } from '../window/parameters.ts';

builder.objectType('ApiKey', {
  description:
    'An API key, known by its client id. The service offers no way to read one, so it may not exist.',
  extensions: { directives: { key: { fields: 'clientId' } } },
  fields: (t) => ({
    clientId: t.exposeID('clientId', { description: 'The client id that names the key.' }),
    audit: t.field({
      type: 'AuditConnection',
      nullable: true,
      description:
        'The audit events in which this key acted or was acted upon, by its client id as id or name. However many keys one request asks about, the trail is read once. Null when it could not be read: `errors` says why.',
      args: windowArguments,
      resolve: ({ clientId }, { first, after }, { authorized, contract }) =>
        readPage(authorized.getTrail(withQuery(path`/api/v1/audit`, pageSize(contract.audit))), {
          first,
          after,
          where: selectConcerning(clientId),
        }),
    }),
  }),
});
