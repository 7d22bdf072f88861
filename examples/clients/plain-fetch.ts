// Nothing but fetch: logs in, then reads the newest events, patiently.
// Run it: npx node examples/clients/plain-fetch.ts
import { setTimeout as wait } from 'node:timers/promises';
import { clientId, clientSecret, url } from './settings.ts';

const TRIES = 3;

const { login } = await ask(
  `mutation ($clientId: ID!, $credential: LoginCredential!) {
    login(clientId: $clientId, credential: $credential) { accessToken }
  }`,
  { clientId, credential: { clientSecret } },
);

const { audit } = await ask(
  '{ audit(first: 3) { nodes { occurredAt action target { identifier } } } }',
  {},
  login.accessToken,
);
for (const { occurredAt, action, target } of audit.nodes) {
  console.log(occurredAt, action, target.identifier);
}

/** Asks again only where the gateway says that it makes sense, and not before it says so. */
async function ask(query: string, variables: object, token?: string) {
  for (let tries = 1; ; tries += 1) {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify({ query, variables }),
    });
    const { data, errors } = await response.json();
    if (errors === undefined) return data;
    const [{ message, extensions }] = errors;
    if (!extensions.retryable || tries === TRIES) throw new Error(`${extensions.code}: ${message}`);
    await wait((extensions.retryAfterSeconds ?? tries) * 1000);
  }
}
