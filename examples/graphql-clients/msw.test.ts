import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { AuditDocument, DeleteApiKeyDocument, type ErrorCode, request } from 'keytrail-client';
import { HttpResponse } from 'msw';
import { graphql } from 'msw/graphql';
import { setupServer } from 'msw/node';
import { createClient, deleteApiKey } from './graphql-request.ts';

const url = 'http://keytrail.test/graphql';
const keytrail = graphql.link(url);
const server = setupServer();

before(() => server.listen({ onUnhandledFrame: 'error' }));
afterEach(() => server.resetHandlers());
after(() => server.close());

/** An error of Keytrail; the type of the code finds spelling mistakes. */
const failure = (code: ErrorCode) => ({ message: code, extensions: { code, retryable: false } });

test('a deletion whose response was lost is not reported as done', async () => {
  server.use(
    keytrail.mutation(DeleteApiKeyDocument, () =>
      HttpResponse.json({ data: { deleteApiKey: null }, errors: [failure('OUTCOME_UNKNOWN')] }),
    ),
  );
  const sentence = await deleteApiKey(createClient(url, 'token'), 'ci-key');
  assert.equal(sentence, 'may be deleted: check the audit trail');
});

test('variables and data of a mock have the types of the document', async () => {
  const pageInfo = {
    hasNextPage: false,
    hasPreviousPage: false,
    startCursor: null,
    endCursor: null,
  };
  server.use(
    keytrail.query(AuditDocument, ({ variables: { filter } }) =>
      HttpResponse.json({
        data: { audit: { totalCount: filter?.actions?.length ?? null, pageInfo, nodes: [] } },
      }),
    ),
  );
  const { data } = await request(AuditDocument, { filter: { actions: ['key.delete'] } }, { url });
  assert.equal(data?.audit?.totalCount, 1);
});
