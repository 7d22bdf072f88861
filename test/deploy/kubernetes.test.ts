import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { ConfigMap } from 'kubernetes-models/v1/ConfigMap';
import { Service } from 'kubernetes-models/v1/Service';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { loadSettings } from '../../src/gateway/config/load.ts';
import { SETTINGS } from '../../src/gateway/config/settings.ts';
import { COMMANDS } from '../../src/terminal/commands.ts';
import { gatewayOver } from '../helpers/gateway.ts';
import { findTypeErrors } from './types.ts';

/** A document of the file. */
type Manifest = { readonly apiVersion: string; readonly kind: string };

const TEXT = readFileSync(new URL('../../deploy/kubernetes.yaml', import.meta.url), 'utf8');
const MANIFESTS = parseManifests(TEXT);
/** With the lines of all options. */
const OPTIONAL = parseManifests(TEXT.replace(/^( *)#(?=[^\s#])/gm, '$1'));

function parseManifests(text: string): readonly Manifest[] {
  return parseAllDocuments(text, { strict: true, uniqueKeys: true }).map((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS();
  });
}

const MODELS = {
  ConfigMap,
  Deployment,
  HorizontalPodAutoscaler,
  NetworkPolicy,
  PodDisruptionBudget,
  Service,
};

/** The only document of a kind, validated against the Kubernetes schema. */
function only<Kind extends keyof typeof MODELS>(
  kind: Kind,
  manifests = MANIFESTS,
): InstanceType<(typeof MODELS)[Kind]> {
  const [manifest, ...more] = manifests.filter((each) => each.kind === kind);
  expect(more).toEqual([]);
  const model = new MODELS[kind](Object(manifest));
  model.validate();
  return model as InstanceType<(typeof MODELS)[Kind]>; // TypeScript does not follow the key
}

/** The errors of tsc for manifests as values of the Kubernetes types, or an empty string. */
function findUnknownFields(manifests: readonly Manifest[]): Promise<string> {
  const lines = manifests.map(({ apiVersion, kind, ...rest }, index) => {
    const from = `kubernetes-models/${apiVersion}/${kind}`;
    const value = JSON.stringify({ apiVersion, kind, ...rest });
    return `import type { I${kind} as T${index} } from '${from}';\nexport const m${index}: T${index} = ${value};\n`;
  });
  return findTypeErrors(lines.join(''));
}

const pod = only('Deployment').spec?.template.spec;
const [container, ...others] = pod?.containers ?? [];
const environment = { ...only('ConfigMap').data };
for (const { name, value = '' } of container?.env ?? []) environment[name] = value;
const { config } = loadSettings({
  ...COMMANDS.serve,
  environment,
  flags: {},
  problems: [],
  readFile: () => '',
});
const PROBES = ['startupProbe', 'readinessProbe', 'livenessProbe'] as const;

describe('deploy/kubernetes.yaml', () => {
  it.each(MANIFESTS)('matches the Kubernetes schema: $kind', ({ apiVersion, kind }) => {
    const [known] = Object.entries(MODELS).filter(([name]) => name === kind);
    expect(known?.[1].apiVersion).toBe(apiVersion);
    expect(only(kind as keyof typeof MODELS)).toMatchObject({ kind }); // the line above found it there
  });

  it('has only fields that Kubernetes knows', async () => {
    expect(await findUnknownFields(MANIFESTS)).toBe('');
    const misspelt = JSON.stringify(MANIFESTS).replace('periodSeconds', 'periodSecond');
    expect(await findUnknownFields(JSON.parse(misspelt))).toMatch(
      /'"periodSecond"' does not exist/,
    );
  });

  it('has only settings that exist, and that are valid in production', () => {
    expect(Object.keys(SETTINGS)).toEqual(expect.arrayContaining(Object.keys(environment)));
    expect(config).toMatchObject({ NODE_ENV: 'production', HOST: '0.0.0.0' });
    expect(container?.envFrom).toEqual([
      { configMapRef: { name: only('ConfigMap').metadata?.name } },
    ]);
    expect(others).toEqual([]);
  });

  it('kills after the shutdown timeout, which covers the drain period and one upstream call', () => {
    const {
      SHUTDOWN_DRAIN_MS: drain,
      SHUTDOWN_TIMEOUT_MS: timeout,
      UPSTREAM_TIMEOUT_MS: call,
    } = config;
    expect((pod?.terminationGracePeriodSeconds ?? 0) * 1000).toBeGreaterThan(timeout);
    expect(timeout).toBeGreaterThan(drain + call);
  });

  it('drains for longer than the readiness probe takes to notice', () => {
    const { periodSeconds = 10, failureThreshold = 3 } = container?.readinessProbe ?? {};
    expect(config.SHUTDOWN_DRAIN_MS).toBeGreaterThan(periodSeconds * failureThreshold * 1000);
  });

  it.each(PROBES)('probes an existing path on the port of Keytrail: %s', async (name) => {
    const { path = '', port } = container?.[name]?.httpGet ?? { port: '' };
    expect(container?.ports).toContainEqual({ name: port, containerPort: config.PORT });
    const draining = new AbortController();
    await using gateway = gatewayOver('http://127.0.0.1:1', { draining: draining.signal });
    const probe = async () => (await gateway.fetch(`http://keytrail${path}`)).status;
    expect(await probe()).toBe(200);
    draining.abort();
    expect(await probe()).toBe(name === 'readinessProbe' ? 503 : 200);
  });

  it('restricts the privileges and resources of the pod', () => {
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    });
    expect(container?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(container?.resources).toEqual({
      requests: { cpu: expect.any(String), memory: expect.any(String) },
      limits: { cpu: expect.any(String), memory: expect.any(String) },
    });
  });

  it('runs at least two pods, and lets one at a time be evicted', () => {
    const { minReplicas, scaleTargetRef } = only('HorizontalPodAutoscaler').spec ?? {};
    expect(minReplicas).toBeGreaterThanOrEqual(2);
    expect(scaleTargetRef?.name).toBe(only('Deployment').metadata?.name);
    expect(container?.resources?.requests?.['cpu']).toBeDefined(); // the target is a percentage of it
    expect(only('Deployment').spec?.replicas).toBeUndefined();
    expect(only('PodDisruptionBudget').spec?.maxUnavailable).toBe(1);
  });

  it('uses the same labels and the same port everywhere', () => {
    const labels = only('Deployment').spec?.template.metadata?.labels;
    expect(labels).toBeDefined();
    expect(only('Service').spec?.selector).toEqual(labels);
    for (const selector of [
      only('Deployment').spec?.selector,
      only('PodDisruptionBudget').spec?.selector,
      only('NetworkPolicy').spec?.podSelector,
      ...(pod?.topologySpreadConstraints ?? []).map((constraint) => constraint.labelSelector),
    ]) {
      expect(selector).toEqual({ matchLabels: labels });
    }
    const [port] = container?.ports ?? [];
    expect(only('Service').spec?.ports?.map(({ targetPort }) => targetPort)).toEqual([port?.name]);
    const [ingress] = only('NetworkPolicy').spec?.ingress ?? [];
    expect(ingress?.ports?.map((open) => open.port)).toEqual([port?.name]);
  });

  it('exposes the metrics to Prometheus alone: by annotations, or by the PodMonitor in a comment', () => {
    expect(config.METRICS_HOST).toBe('0.0.0.0');
    const port = { name: 'metrics', containerPort: config.METRICS_PORT };
    expect(container?.ports?.slice(1)).toEqual([port]);
    const template = only('Deployment').spec?.template.metadata;
    expect(template?.annotations).toEqual({
      'prometheus.io/scrape': 'true',
      'prometheus.io/port': String(config.METRICS_PORT),
      'prometheus.io/path': '/metrics',
    });
    const [clients, prometheus, ...more] = only('NetworkPolicy').spec?.ingress ?? [];
    expect(more).toEqual([]);
    expect(prometheus?.ports).toEqual([{ protocol: 'TCP', port: port.name }]);
    expect(prometheus?.from).toHaveLength(1);
    expect(prometheus?.from).not.toEqual(clients?.from);
    const [, comment = ''] = TEXT.split(/^# ---$/m);
    expect(parseManifests(comment.replaceAll(/^# /gm, ''))).toMatchObject([
      {
        kind: 'PodMonitor',
        spec: {
          selector: { matchLabels: template?.labels },
          podMetricsEndpoints: [{ port: port.name }],
        },
      },
    ]);
  });
});

describe('deploy/kubernetes.yaml with the lines of all options', () => {
  const { volumes = [], containers = [] } = only('Deployment', OPTIONAL).spec?.template.spec ?? {};
  const { envFrom = [], volumeMounts = [] } = containers[0] ?? {};

  it('matches the Kubernetes schema, with only fields that Kubernetes knows', async () => {
    expect(OPTIONAL.map(({ kind }) => kind)).toEqual(MANIFESTS.map(({ kind }) => kind));
    for (const kind of Object.keys(MODELS)) only(kind as keyof typeof MODELS, OPTIONAL); // its keys
    expect(await findUnknownFields(OPTIONAL)).toBe('');
  });

  it('reads the contract, the CA and the headers from files that are mounted, and Redis from a secret', () => {
    const added = Object.entries(only('ConfigMap', OPTIONAL).data ?? {}).filter(
      ([name]) => !(name in environment),
    );
    expect(added.map(([name]) => name)).toEqual([
      ...['KEYTRAIL_CONTRACT', 'UPSTREAM_CA_FILE', 'UPSTREAM_HEADERS_FILE'],
    ]);
    const files: Readonly<Record<string, string>> = {
      'contract/contract.json': '{"audit": {"records": "/events"}}',
      'ca/ca.pem': rootCertificates[0] ?? '',
      'headers/headers.txt': 'x-tenant: acme',
    };
    const { contract, tls, headers } = loadSettings({
      ...COMMANDS.serve,
      environment: { ...environment, ...Object.fromEntries(added) },
      flags: {},
      problems: [],
      readFile: (path) => files[path.replace('/etc/keytrail/', '')] ?? '',
    });
    expect(contract).toEqual({ audit: { records: '/events' } });
    expect(tls.ca).toBe(rootCertificates[0]);
    expect(headers).toEqual({ 'x-tenant': 'acme' });
    const folders = added.map(([, path]) => path.slice(0, path.lastIndexOf('/')));
    expect(volumeMounts.map(({ mountPath }) => mountPath)).toEqual(folders);
    expect(volumeMounts.map(({ name }) => name)).toEqual(volumes.map(({ name }) => name));
    expect(envFrom.at(-1)).toEqual({ secretRef: { name: 'keytrail-redis' } });
  });

  it('names what its first lines create', () => {
    const created = [
      ...TEXT.matchAll(/kubectl create .*(?:configmap|generic) (\S+) --from-\w+=(\w+)/g),
    ];
    const named = [
      ...volumes.map(({ configMap, secret }) => configMap?.name ?? secret?.secretName),
      envFrom.at(-1)?.secretRef?.name,
    ];
    expect(created.map(([, name]) => name)).toEqual(named);
    expect(Object.keys(SETTINGS)).toContain(created.at(-1)?.[2]);
  });

  it('reaches Redis', () => {
    const more = (manifests: readonly Manifest[]) =>
      only('NetworkPolicy', manifests).spec?.egress ?? [];
    expect(more(OPTIONAL).slice(more(MANIFESTS).length)).toEqual([
      { ports: [{ protocol: 'TCP', port: 6379 }], to: [expect.anything()] },
    ]);
  });
});
