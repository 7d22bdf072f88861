import { expect, it } from 'vitest';
import { startMeasured } from '../helpers/measured.ts';
import { startService } from '../helpers/service.ts';

const LOGIN = 'login(clientId: $client, credential: {clientSecret: $secret}) { accessToken }';
const LITERAL_LOGIN =
  'login(clientId: "canary-literal", credential: {clientSecret: "canary-literal"}) { accessToken }';
const VARIABLES = '$client: ID!, $secret: String!, $flag: Boolean! = true';

/** What is asked three times each, with values of the caller in its variables and headers. */
const ASKED: Readonly<Record<string, string>> = {
  login: `mutation (${VARIABLES}) { ${LOGIN} __typename @include(if: $flag) }`,
  audit: `query ($client: String!) { audit(filter: {actor: $client}) { nodes { id raw } } }`,
  deletion: `mutation ($client: ID!) { deleteApiKey(clientId: $client) { __typename } }`,
  literals: `mutation { ${LITERAL_LOGIN} }`,
  refusedLiterals: `mutation { ${LITERAL_LOGIN} nothing }`,
  invalid: `mutation (${VARIABLES}) { ${LOGIN} nothing(of: $flag) }`,
  unparsable: `mutation (${VARIABLES}) { ${LOGIN} `,
  excessive: `mutation (${VARIABLES}) { a: ${LOGIN} b: ${LOGIN} __typename @include(if: $flag) }`,
  unfitting: `mutation (${VARIABLES}, $unfit: Int!) { ${LOGIN} x: __typename @include(if: $unfit) }`,
  missing: `mutation ($client: ID!, $secret: String!, $miss: Boolean!) { ${LOGIN} __typename @skip(if: $miss) }`,
};

it.each([200, 400, 500])(
  'nothing that was sent or answered stays in memory, with status %i',
  async (status) => {
    let isNeutral = false;
    await using service = await startService(({ body }) =>
      isNeutral
        ? { body: [] }
        : {
            status,
            body: { access_token: `canary-answer-${body}`, events: [{ id: 'canary-record' }] },
          },
    );
    await using gateway = await startMeasured(service.url);
    const ask = (query: string, variables: object, token: string) =>
      fetch(gateway.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ query, variables }),
      }).then((answer) => answer.text());
    for (const [name, query] of Object.entries(ASKED)) {
      for (const time of [1, 2, 3]) {
        const variables = {
          client: `canary-client-${name}-${time}`,
          secret: `canary-secret-${name}-${time}`,
        };
        await ask(query, variables, `canary-token-${name}-${time}`);
      }
    }
    isNeutral = true; // what is kept of one until the next comes is not meant
    for (let count = 0; count < 20; count += 1)
      await ask('{ audit { nodes { id } } }', {}, 'neutral');
    const snapshot = await gateway.snapshot();
    expect(snapshot).toContain('deleteApiKey');
    expect(new Set(snapshot.match(/canary[\w-]*/g))).toEqual(new Set());
  },
);
