import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadSettings } from '../../src/gateway/config/load.ts';
import { SETTINGS } from '../../src/gateway/config/settings.ts';
import { COMMANDS } from '../../src/terminal/commands.ts';

/** The parts of a Compose file that ours has. */
type ComposeFile = {
  readonly services: Readonly<Record<'keytrail' | 'prometheus' | 'grafana', Service>>;
  readonly volumes: Readonly<Record<string, object>>;
  readonly configs: Readonly<Record<string, { readonly content?: string; readonly file?: string }>>;
};

type Service = {
  readonly image: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly ports?: readonly string[];
  readonly stop_grace_period?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly configs?: readonly { readonly source: string; readonly target: string }[];
  readonly volumes?: readonly string[];
};

const read = (file: string) =>
  readFileSync(new URL(`../../deploy/${file}`, import.meta.url), 'utf8');
const TEXT = read('compose.yaml');
const FILE: ComposeFile = parse(TEXT);
/** With the lines of all options. */
const OPTIONAL: ComposeFile = parse(TEXT.replace(/^( *)#(?=[^\s#])/gm, '$1'));
const { keytrail, prometheus, grafana } = FILE.services;

/** The schema of the Compose specification, of the linter dclint. */
const { $schema: _, ...schema }: Readonly<Record<string, unknown>> = JSON.parse(
  readFileSync(new URL('node_modules/dclint/schemas/compose.schema.json', import.meta.url), 'utf8'),
);
const isValid = new Ajv({ strict: false, validateFormats: false }).compile(schema);

const environment = Object.fromEntries(
  Object.entries(keytrail.environment ?? {}).map(([name, value]) => [
    name,
    value.replace(/^\$\{UPSTREAM_URL:\?.*\}$/, 'https://service.example.com'),
  ]),
);
const { config } = loadSettings({
  ...COMMANDS.serve,
  // The image sets the first two.
  environment: { NODE_ENV: 'production', HOST: '0.0.0.0', ...environment },
  flags: {},
  problems: [],
  readFile: () => '',
});

/** What a service finds at a path. */
function contentAt({ configs = [] }: Service, path: string): string {
  const { content, file = '' } =
    FILE.configs[configs.find(({ target }) => target === path)?.source ?? ''] ?? {};
  return content ?? read(file);
}

describe('deploy/compose.yaml', () => {
  it('matches the schema of the Compose specification', () => {
    expect(isValid(FILE), JSON.stringify(isValid.errors)).toBe(true);
    const misspelt = { ...FILE, services: { keytrail: { ...keytrail, stop_grace_time: '30s' } } };
    expect(isValid(misspelt)).toBe(false);
  });

  it('names only configurations, files and volumes that exist', () => {
    const services = Object.values(FILE.services);
    const used = services.flatMap(({ configs = [] }) => configs.map(({ source }) => source));
    expect(used.toSorted()).toEqual(Object.keys(FILE.configs).toSorted());
    for (const { file } of Object.values(FILE.configs)) if (file !== undefined) read(file);
    const volumes = services.flatMap((each) =>
      (each.volumes ?? []).map((volume) => volume.split(':')[0]),
    );
    expect(volumes.toSorted()).toEqual(Object.keys(FILE.volumes).toSorted());
    const { context = '', dockerfile = '' } = keytrail.build ?? {};
    expect(read(`${context}/${dockerfile}`)).toContain('ENTRYPOINT');
  });

  it('has images with a version, and publishes ports on loopback only', () => {
    for (const { image, ports = [] } of Object.values(FILE.services)) {
      expect(image).toMatch(/:v?\d+\.\d+\.\d+$/);
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:(\d+):\1$/);
    }
    expect(keytrail.ports).toEqual([expect.stringContaining(`:${config.PORT}`)]);
    expect(prometheus.ports).toBeUndefined();
  });

  it('has only settings that exist, and kills Keytrail after its shutdown timeout', () => {
    expect(Object.keys(SETTINGS)).toEqual(expect.arrayContaining(Object.keys(environment)));
    const seconds = Number.parseInt(keytrail.stop_grace_period ?? '', 10);
    expect(seconds * 1000).toBeGreaterThan(config.SHUTDOWN_TIMEOUT_MS);
  });

  it('reads the contract, the CA and the headers from a folder that is mounted, with the lines of all options', () => {
    expect(isValid(OPTIONAL), JSON.stringify(isValid.errors)).toBe(true);
    const { volumes, environment: all = {} } = OPTIONAL.services.keytrail;
    const added = Object.fromEntries(
      Object.entries(all).filter(([name]) => !(name in environment)),
    );
    expect(Object.keys(added)).toEqual([
      ...['KEYTRAIL_CONTRACT', 'UPSTREAM_CA_FILE', 'UPSTREAM_HEADERS_FILE'],
    ]);
    expect(volumes).toEqual(['./config:/etc/keytrail:ro']);
    const files: Readonly<Record<string, string>> = {
      'contract.json': '{"audit": {"records": "/events"}}',
      'ca.pem': rootCertificates[0] ?? '',
      'headers.txt': 'x-tenant: acme',
    };
    const loaded = loadSettings({
      ...COMMANDS.serve,
      environment: { ...environment, ...added },
      flags: {},
      problems: [],
      readFile: (path) => files[path.replace('/etc/keytrail/', '')] ?? '',
    });
    expect(loaded.contract).toEqual({ audit: { records: '/events' } });
    expect(loaded.tls.ca).toBe(rootCertificates[0]);
    expect(loaded.headers).toEqual({ 'x-tenant': 'acme' });
  });

  it('lets Prometheus scrape the metrics, and evaluate the alerts', async () => {
    const text = contentAt(prometheus, '/etc/prometheus/prometheus.yml');
    const { scrape_configs, rule_files } = parse(text);
    const targets = [`keytrail:${config.METRICS_PORT}`];
    expect(scrape_configs).toEqual([{ job_name: 'keytrail', static_configs: [{ targets }] }]);
    expect(config.METRICS_HOST).toBe('0.0.0.0');
    expect(contentAt(prometheus, rule_files[0])).toBe(read('alerts.yaml'));
  });

  const hasPromtool = spawnSync('promtool', ['--version']).error === undefined;
  it.skipIf(!hasPromtool)('has a configuration of Prometheus that promtool accepts', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'keytrail-prometheus-'));
    try {
      const alerts = fileURLToPath(new URL('../../deploy/alerts.yaml', import.meta.url));
      const text = contentAt(prometheus, '/etc/prometheus/prometheus.yml');
      const file = join(folder, 'prometheus.yml');
      await writeFile(file, text.replace('/etc/prometheus/alerts.yaml', alerts));
      await promisify(execFile)('promtool', ['check', 'config', file]);
      await writeFile(file, text.replace('scrape_configs', 'scrape_config'));
      await expect(promisify(execFile)('promtool', ['check', 'config', file])).rejects.toThrow();
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('shows the dashboard in Grafana, from the metrics of Prometheus', () => {
    const provisioning = '/etc/grafana/provisioning';
    const { datasources } = parse(contentAt(grafana, `${provisioning}/datasources/keytrail.yaml`));
    const dashboard = JSON.parse(read('grafana.json'));
    const [variable] = dashboard.templating.list;
    expect(variable).toMatchObject({ type: 'datasource', query: datasources[0].type });
    expect(datasources).toMatchObject([{ url: 'http://prometheus:9090', isDefault: true }]);
    const { providers } = parse(contentAt(grafana, `${provisioning}/dashboards/keytrail.yaml`));
    const shown = grafana.configs?.find(
      ({ target }) => dirname(target) === providers[0].options.path,
    );
    expect(contentAt(grafana, shown?.target ?? '')).toBe(read('grafana.json'));
    expect(read('compose.yaml')).toContain(`/d/${dashboard.uid} `);
  });
});
