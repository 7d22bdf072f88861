import type { Sandbox } from '../sandbox/server.ts';
import { GRAPHQL_PATH } from '../server/plugins/use-routes.ts';

/** What there is to greet with. */
export type BannerFacts = {
  readonly version: string;
  /** Where the gateway listens, without a path. */
  readonly origin: string;
  readonly upstreamUrl: string;
  readonly hasPlayground: boolean;
  readonly sandbox: Pick<Sandbox, 'clients'> | null;
  readonly metricsUrl: string | undefined;
};

/** Says where everything is, and with the sandbox how to begin. */
export function printBanner(greeting: BannerFacts): string {
  const { version, origin, upstreamUrl, hasPlayground, sandbox, metricsUrl } = greeting;
  const url = `${origin}${GRAPHQL_PATH}`;
  const lines = [
    `Keytrail ${version}`,
    '',
    `  GraphQL      ${url}`,
    ...(hasPlayground ? [`  Playground   ${url} (in a browser)`] : []),
    `  Forwards to  ${upstreamUrl.replace(/\/$/, '')}`,
    ...(metricsUrl === undefined ? [] : [`  Metrics      ${metricsUrl}`]),
    ...(sandbox === null ? [] : greetSandbox(url, sandbox.clients, hasPlayground)),
  ];
  return `${lines.join('\n')}\n\n`;
}

function greetSandbox(
  url: string,
  clients: Sandbox['clients'],
  hasPlayground: boolean,
): readonly string[] {
  const [first] = clients;
  const uses = hasPlayground ? PLAYGROUND_USES : [];
  const query =
    'mutation ($clientId: ID!, $clientSecret: String!) { login(clientId: $clientId, credential: {clientSecret: $clientSecret}) { accessToken refreshToken expiresAt } }';
  const variables = { clientId: first?.clientId, clientSecret: first?.secret };
  return [
    '',
    '  THIS IS THE SANDBOX: a stand-in for the service, with made-up data. Set UPSTREAM_URL for the real one.',
    '',
    '  Demo clients, each with its secret for the first login:',
    ...clients.map(({ clientId, secret }, index) =>
      `    ${clientId.padEnd(14)} ${secret.padEnd(30)} ${uses[index] ?? ''}`.trimEnd(),
    ),
    '',
    `  Log in as ${first?.clientId}:`,
    `    curl -s ${url} -H 'content-type: application/json' -d '${JSON.stringify({ query, variables })}'`,
  ];
}

/** A secret is good for one login, so the playground has a client of its own. */
const PLAYGROUND_USES = [
  'logs in below',
  'logs in in the playground: press play in each tab, from left to right',
  'is deleted there',
];
