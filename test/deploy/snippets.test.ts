import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadSettings } from '../../src/gateway/config/load.ts';
import { COMMANDS } from '../../src/terminal/commands.ts';
import { readBlocks } from '../docs/markdown.ts';
import { ask, gatewayOver, onPort } from '../helpers/gateway.ts';
import { findPort } from '../helpers/serve.ts';
import { startService } from '../helpers/service.ts';
import { hasNginx, waitForPort } from './nginx.ts';

const exec = promisify(execFile);
const path = (file: string) => fileURLToPath(new URL(`../../${file}`, import.meta.url));
const blocksOf = (page: string) => readBlocks(readFileSync(path(page), 'utf8'));

/** A file that a page shows. */
function shown(page: string, name: string): string {
  const block = blocksOf(page).find(({ attributes }) => attributes.get('file') === name);
  if (block === undefined) throw new Error(`${page} does not show ${name}`);
  return block.text;
}

/** Saves a text as a file while a function runs. */
async function inFile<Value>(
  text: string,
  run: (file: string, folder: string) => Promise<Value>,
): Promise<Value> {
  const folder = await mkdtemp(join(tmpdir(), 'keytrail-snippet-'));
  try {
    const file = join(folder, 'file');
    await writeFile(file, text);
    return await run(file, folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Runs nginx with a part of `http`, which opens a port, while a function runs. */
async function withNginx(http: string, port: number, run: () => Promise<void>): Promise<void> {
  const conf = `events {}\nhttp { access_log off;\n${http}\n}`;
  await inFile(conf, async (file, folder) => {
    const own = `daemon off; pid ${folder}/pid; error_log ${folder}/error.log;`;
    const nginx = spawn('nginx', ['-c', file, '-g', own], { stdio: 'ignore' });
    const exited = once(nginx, 'exit');
    try {
      await waitForPort(port);
      await run();
    } finally {
      nginx.kill();
      await exited;
    }
  });
}

describe.skipIf(!hasNginx)('nginx of docs/deployment.md', () => {
  it('sends the token in another header', async () => {
    await using service = await startService({ body: { access_token: 'new', events: [] } });
    const port = await findPort();
    const conf = shown('docs/deployment.md', 'token-header.conf')
      .replace('127.0.0.1:4030', `127.0.0.1:${port}`)
      .replace('https://service.example.com', service.url);
    await withNginx(conf, port, async () => {
      await using gateway = gatewayOver(`http://127.0.0.1:${port}`);
      const read = await ask(gateway, '{ audit { totalCount } }', {}, { token: 'abc.def-1~+/=' });
      expect(read.errors).toBeUndefined();
      await ask(
        gateway,
        'mutation { login(clientId: "c", credential: {clientSecret: "s"}) { expiresAt } }',
      );
    });
    expect(service.seen.map(({ headers }) => headers['x-api-key'])).toEqual([
      'abc.def-1~+/=',
      undefined,
    ]);
    expect(service.seen.map(({ headers }) => headers.authorization)).toEqual([
      undefined,
      undefined,
    ]);
  });

  it('leads to two gateways by path', async () => {
    await using production = await startService({ body: { events: [], total: 1 } });
    await using staging = await startService({ body: { events: [], total: 2 } });
    await using first = await onPort(gatewayOver(production.url));
    await using second = await onPort(gatewayOver(staging.url));
    const port = await findPort();
    const locations = shown('docs/deployment.md', 'two-services.conf')
      .replace('http://127.0.0.1:4000', new URL(first.url).origin)
      .replace('http://127.0.0.1:4001', new URL(second.url).origin);
    const send = async (at: string) => {
      const response = await fetch(`http://127.0.0.1:${port}${at}`, {
        method: 'POST',
        headers: { authorization: 'Bearer t', 'content-type': 'application/json' },
        body: '{"query": "{ audit { totalCount } }"}',
      });
      return response.text();
    };
    const server = `server { listen 127.0.0.1:${port};\n${locations} }`;
    await withNginx(server, port, async () => {
      expect(await send('/graphql')).toContain('"totalCount":1');
      expect(await send('/staging/graphql')).toContain('"totalCount":2');
    });
  });
});

describe('docker run of docs/deployment.md', () => {
  it('mounts the files that its settings name', () => {
    const { text = '' } =
      blocksOf('docs/deployment.md').find(({ text }) => text.includes('KEYTRAIL_CONTRACT')) ?? {};
    const variables = [...text.matchAll(/-e (\w+)=(\S+)/g)].map(([, name = '', value = '']) => [
      name,
      value,
    ]);
    const [, mount = ''] = /-v "\$PWD\/config:([^:]+):ro"/.exec(text) ?? [];
    const files: Readonly<Record<string, string>> = {
      [`${mount}/contract.json`]: '{"audit": {"records": "/events"}}',
      [`${mount}/ca.pem`]: rootCertificates[0] ?? '',
      [`${mount}/headers.txt`]: 'x-tenant: acme',
    };
    const { contract, tls, headers } = loadSettings({
      ...COMMANDS.serve,
      environment: Object.fromEntries(variables),
      flags: {},
      problems: [],
      readFile: (file) => files[file] ?? '',
    });
    expect(contract).toEqual({ audit: { records: '/events' } });
    expect(tls.ca).toBe(rootCertificates[0]);
    expect(headers).toEqual({ 'x-tenant': 'acme' });
  });
});

const has = (program: string) => spawnSync(program, ['--version']).error === undefined;

describe('Alertmanager of docs/deployment.md', () => {
  const text = shown('docs/deployment.md', 'alertmanager.yml');

  it('routes by each severity of deploy/alerts.yaml to a receiver that exists', () => {
    const { route, receivers } = parse(text, { strict: true });
    const names = receivers.map(({ name }: { readonly name: string }) => name);
    const { groups } = parse(readFileSync(path('deploy/alerts.yaml'), 'utf8'));
    const severities = new Set(
      groups.flatMap(({ rules }: { readonly rules: readonly Rule[] }) =>
        rules.map(({ labels }) => labels.severity),
      ),
    );
    expect(severities).toEqual(new Set(['critical', 'warning']));
    expect(names).toContain(route.receiver);
    expect(route.routes).toEqual([
      { receiver: expect.toBeOneOf(names), matchers: ['severity="critical"'] },
    ]);
  });

  it.skipIf(!has('amtool'))('is accepted by amtool', async () => {
    await inFile(text, (file) => exec('amtool', ['check-config', file]));
    const misspelt = text.replace('group_by', 'group_bye');
    await expect(
      inFile(misspelt, (file) => exec('amtool', ['check-config', file])),
    ).rejects.toThrow('failed to validate');
  });

  it.skipIf(!has('promtool'))(
    'gets the alerts of a configuration that promtool accepts',
    async () => {
      const prometheus = shown('docs/deployment.md', 'prometheus.yml').replace(
        'alerts.yaml',
        path('deploy/alerts.yaml'),
      );
      await inFile(prometheus, (file) => exec('promtool', ['check', 'config', file]));
      const misspelt = prometheus.replace('alertmanagers', 'alertmanager');
      await expect(
        inFile(misspelt, (file) => exec('promtool', ['check', 'config', file])),
      ).rejects.toThrow();
    },
  );
});

type Rule = { readonly labels: { readonly severity: string } };

describe('the Collector of docs/observability.md', () => {
  const { receivers, exporters, service } = parse(
    shown('docs/observability.md', 'otel-collector.yaml'),
    { strict: true },
  );

  it('scrapes the port of the page, receives traces at its address, and uses what it defines', () => {
    const { text = '' } =
      blocksOf('docs/observability.md').find(({ text }) => text.includes('METRICS_PORT=')) ?? {};
    const [, port] = /METRICS_PORT=(\d+)/.exec(text) ?? [];
    expect(receivers.prometheus.config.scrape_configs).toMatchObject([
      { job_name: 'keytrail', static_configs: [{ targets: [`127.0.0.1:${port}`] }] },
    ]);
    const endpoint: string = receivers.otlp.protocols.http.endpoint;
    expect(
      blocksOf('docs/observability.md').some(({ text }) =>
        text.includes(`OTEL_EXPORTER_OTLP_ENDPOINT=http://${endpoint} `),
      ),
    ).toBe(true);
    expect(service.pipelines).toEqual({
      metrics: { receivers: ['prometheus'], exporters: Object.keys(exporters) },
      traces: { receivers: ['otlp'], exporters: Object.keys(exporters) },
    });
  });

  it.skipIf(!has('promtool'))('has a receiver whose configuration promtool accepts', async () => {
    const text = JSON.stringify(receivers.prometheus.config); // JSON is YAML
    await inFile(text, (file) => exec('promtool', ['check', 'config', file]));
    const misspelt = text.replace('scrape_interval', 'scrape_intervall');
    await expect(
      inFile(misspelt, (file) => exec('promtool', ['check', 'config', file])),
    ).rejects.toThrow();
  });
});
