import { GRAPHQL_PATH } from '../http/request-head.ts';
import type { Sandbox } from '../sandbox/server.ts';

/** What the banner shows. */
export type BannerFacts = {
  readonly version: string;
  /** The gateway's URL without a path. */
  readonly origin: string;
  readonly upstreamUrl: string;
  readonly hasPlayground: boolean;
  readonly sandbox: Pick<Sandbox, 'clients'> | null;
  /** Undefined if metrics are off. */
  readonly metricsUrl: string | undefined;
};

/** The text that `serve` writes when it is ready: the URLs and, with the sandbox, how to log in. */
export function formatBanner(facts: BannerFacts): string {
  const { version, origin, upstreamUrl, hasPlayground, sandbox, metricsUrl } = facts;
  const url = `${origin}${GRAPHQL_PATH}`;
  const lines = [
    `Keytrail ${version}`,
    '',
    `  GraphQL      ${url}`,
    ...(hasPlayground ? [`  Playground   ${url} (in a browser)`] : []),
    `  Forwards to  ${upstreamUrl.replace(/\/$/, '')}`,
    ...(metricsUrl === undefined ? [] : [`  Metrics      ${metricsUrl}`]),
    ...(sandbox === null ? [] : sandboxLines(url, sandbox.clients)),
  ];
  return `${lines.join('\n')}\n\n`;
}

function sandboxLines(url: string, clients: Sandbox['clients']) {
  const [first] = clients;
  const query =
    'mutation ($clientId: ID!, $clientSecret: String!) { login(clientId: $clientId, credential: {clientSecret: $clientSecret}) { accessToken refreshToken expiresAt } }';
  const variables = { clientId: first?.clientId, clientSecret: first?.secret };
  return [
    '',
    '  THIS IS THE SANDBOX: an embedded service with fake data. Set UPSTREAM_URL to use your service.',
    '',
    '  Demo clients and their secrets:',
    ...clients.map(({ clientId, secret }) => `    ${clientId.padEnd(14)} ${secret}`),
    '',
    `  Log in as ${first?.clientId}:`,
    `    curl -s ${url} -H 'content-type: application/json' -d '${JSON.stringify({ query, variables })}'`,
  ];
}
