// Only fetch: logs in, reads the newest events, and retries errors that are retryable.
// Run it: npx node examples/clients/plain-fetch.ts
import { setTimeout as wait } from 'node:timers/promises';
import { clientId, clientSecret, reportFailure, url } from './settings.ts';

reportFailure();

const MAX_ATTEMPTS = 3;

const { login } = await request(
  `mutation ($clientId: ID!, $credential: LoginCredential!) {
    login(clientId: $clientId, credential: $credential) { accessToken }
  }`,
  { clientId, credential: { clientSecret } },
);

const { audit } = await request(
  '{ audit(first: 3) { nodes { occurredAt action target { identifier } } } }',
  {},
  login.accessToken,
);
for (const { occurredAt, action, target } of audit.nodes) {
  console.log(occurredAt, action, target.identifier);
}

/**
 * Retries only if every error is retryable, after `retryAfterSeconds` if the gateway specifies it. `retryable` is about
 * one field: below a deletion that was carried out, it is no reason to repeat the deletion. So no field may have data.
 */
async function request(query: string, variables: object, token?: string) {
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify({ query, variables }),
      redirect: 'error', // another server would get the secret
    });
    const { data, errors } = await response.json();
    if (errors === undefined) return data;
    const [{ message, extensions = {} }] = errors;
    const hasData = Object.values(data ?? {}).some((field) => field !== null);
    if (hasData || !errors.every(isRetryable) || attempt === MAX_ATTEMPTS)
      throw new Error(`${extensions.code}: ${message}`);
    await wait((extensions.retryAfterSeconds ?? attempt) * 1000);
  }
}

type Failure = {
  readonly path?: unknown[];
  readonly extensions?: { readonly retryable?: boolean };
};

/** Whether a whole request or a root field failed, and may be requested again. */
function isRetryable({ path = [], extensions = {} }: Failure): boolean {
  return path.length < 2 && extensions.retryable === true;
}
