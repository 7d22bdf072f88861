import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { ask as askGateway, gatewayOver } from '../../helpers/gateway.ts';
import { keytrailInProcess } from '../../helpers/process.ts';

/** A CA and two certificates for 127.0.0.1 that it issued, created with openssl, valid for 100 years. The CA's key was deleted. */
const file = (name: string) =>
  fileURLToPath(new URL(`../../fixtures/tls/${name}.pem`, import.meta.url));

const OWN = { UPSTREAM_CERT_FILE: file('client'), UPSTREAM_KEY_FILE: file('client-key') };

/** A service over TLS that responds with the name in the client certificate. */
async function startTls(requestCert: boolean) {
  const server = createServer(
    {
      key: readFileSync(file('service-key')),
      cert: readFileSync(file('service')),
      ca: readFileSync(file('ca')),
      requestCert,
    },
    (request, response) => {
      const socket = request.socket as TLSSocket; // it is an https server
      response.end(JSON.stringify([{ id: String(socket.getPeerCertificate().subject?.CN) }]));
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Sends the query to a gateway process; the ID of the first event, or the extensions of the first error. */
async function ask(
  environment: Readonly<Record<string, string>>,
  query = '{ audit { nodes { id } } }',
) {
  await using process = keytrailInProcess([], { PORT: '0', ...environment });
  const [, url = ''] = await process.until(/(http:\/\/127\.0\.0\.1:\d+\/graphql)/);
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer t' },
    body: JSON.stringify({ query }),
  });
  const { data, errors } = await response.json();
  return errors?.[0].extensions ?? data.audit.nodes[0].id;
}

describe('a service over TLS', () => {
  it('is sent nothing unless its CA is trusted', async () => {
    await using service = await startTls(false);
    expect(await ask({ UPSTREAM_URL: service.url })).toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
    });
    expect(await ask({ UPSTREAM_URL: service.url, UPSTREAM_CA_FILE: file('ca') })).toBe(
      'undefined',
    );
  });

  it('that is not trusted is logged with Node’s code of the reason', async () => {
    await using service = await startTls(false);
    const far = service.url.replace('127.0.0.1', 'localhost'); // the certificate is valid for the IP address only
    const ca = readFileSync(file('ca'), 'utf8');
    await using unknown = gatewayOver(service.url);
    await using elsewhere = gatewayOver(far, { upstream: { tls: { ca } } });
    for (const gateway of [unknown, elsewhere]) {
      await askGateway(gateway, '{ audit { totalCount } }', {}, { token: 't' });
    }
    const causes = [unknown, elsewhere].map(({ logged: [line = ''] }) => JSON.parse(line).cause);
    expect(causes).toEqual(['SELF_SIGNED_CERT_IN_CHAIN', 'ERR_TLS_CERT_ALTNAME_INVALID']);
  });

  it('receives the configured client certificate', async () => {
    await using service = await startTls(true);
    const environment = { UPSTREAM_URL: service.url, UPSTREAM_CA_FILE: file('ca'), ...OWN };
    expect(await ask(environment)).toBe('client');
  });

  it('that rejects a connection without a client certificate has not received the request', async () => {
    await using service = await startTls(true);
    const environment = { UPSTREAM_URL: service.url, UPSTREAM_CA_FILE: file('ca') };
    const deletion = 'mutation { deleteApiKey(clientId: "k") { outcome } }';
    expect(await ask(environment, deletion)).toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      retryable: true,
    });
  });

  it('is not used if a file is not a PEM file: Keytrail does not start', async () => {
    await using process = keytrailInProcess([], { ...OWN, UPSTREAM_KEY_FILE: file('client') });
    expect(await process.status).toBe(2);
    expect(process.output.stderr).toContain('UPSTREAM_KEY_FILE must be the path of a PEM file');
  });

  it('is not used if the key belongs to another certificate: Keytrail does not start', async () => {
    await using process = keytrailInProcess([], { ...OWN, UPSTREAM_KEY_FILE: file('service-key') });
    expect(await process.status).toBe(2);
    expect(process.output.stderr).toContain('UPSTREAM_KEY_FILE must hold the key of');
  });
});
