import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Api, graph, keytrailGraph, projected, rest, restNamed } from './apis.ts';
import { type Load, PAGES } from './loads.ts';
import type { Command } from './processes.ts';

/** A gateway in front of the service, set up as its users run it. */
export type Peer = {
  /** As `--peer` takes it. */
  readonly name: string;
  /** For tables. */
  readonly title: string;
  /** Whether it is another gateway in JavaScript; Keytrail has to be ahead of those. */
  readonly isJavaScriptGateway: boolean;
  readonly api: Api;
  /** Builds it, once per run. Returns why it cannot run on this machine, or null. */
  readonly prepare?: () => Promise<string | null>;
  /** How it starts on a loopback port. */
  readonly command: (options: CommandOptions) => Command;
};

type CommandOptions = { readonly port: number; readonly upstreamUrl: string };

/** This folder. */
export const BENCH = fileURLToPath(new URL('.', import.meta.url));
/** The repository. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url));

const exec = promisify(execFile);

/** A program of the folder `peers`. */
function script(file: string, ...args: readonly string[]): Peer['command'] {
  return ({ port, upstreamUrl }) => ({
    file: process.execPath,
    args: [`${BENCH}peers/${file}`, ...args],
    environment: { PORT: String(port), UPSTREAM_URL: upstreamUrl },
  });
}

function bareNode(name: string, title: string, api: Api): Peer {
  return { name, title, isJavaScriptGateway: false, api, command: script('bare-node.ts', name) };
}

function library(name: string, title: string, file: string): Peer {
  return { name, title, isJavaScriptGateway: true, api: graph, command: script(file) };
}

/** Keytrail from a checkout, built and started as its image does it. */
export function keytrail(name: string, title: string, folder: string): Peer {
  const checkout = resolve(folder);
  const readDockerfile = (instruction: string) => {
    const dockerfile = readFileSync(`${checkout}/deploy/Dockerfile`, 'utf8');
    return new RegExp(`^${instruction} (.*)$`, 'm').exec(dockerfile)?.[1] ?? '';
  };
  return {
    name,
    title,
    isJavaScriptGateway: false,
    api: keytrailGraph,
    prepare: async () => {
      await exec('npm', ['run', '--silent', 'build'], { cwd: checkout });
      return null;
    },
    command: ({ port, upstreamUrl }) => {
      const entrypoint: readonly string[] = JSON.parse(readDockerfile('ENTRYPOINT'));
      const variables = readDockerfile('ENV').split(' ');
      return {
        file: process.execPath,
        args: [...entrypoint.slice(1, -1), `${checkout}/dist/image/main.js`],
        environment: {
          ...Object.fromEntries(variables.map((variable) => variable.split('='))),
          HOST: '127.0.0.1',
          PORT: String(port),
          METRICS_PORT: '0',
          UPSTREAM_URL: upstreamUrl,
        },
      };
    },
  };
}

const TAILCALL = `${BENCH}node_modules/@tailcallhq/core-linux-x64-gnu/bin/tailcall`;

/** A folder with glibc 2.39 or newer, if the machine's is older. */
const GLIBC = process.env['TAILCALL_GLIBC'];

const [tailcall = '', ...tailcallArgs] =
  GLIBC === undefined
    ? [TAILCALL]
    : [`${GLIBC}/ld-linux-x86-64.so.2`, '--library-path', GLIBC, TAILCALL];

/** All peers in the order of tables. Ratios are relative to the first. */
export const PEERS: readonly Peer[] = [
  bareNode('l0', 'L0', rest),
  bareNode('l1', 'L1', projected),
  bareNode('l2', 'L2', graph),
  keytrail('keytrail', 'Keytrail', ROOT),
  {
    name: 'npm-start',
    title: 'Keytrail, `npm start`',
    isJavaScriptGateway: false,
    api: keytrailGraph,
    command: ({ port, upstreamUrl }) => ({
      file: 'npm',
      args: ['start', '--silent', '--prefix', ROOT],
      environment: { HOST: '127.0.0.1', PORT: String(port), UPSTREAM_URL: upstreamUrl },
    }),
  },
  library('mercurius', 'Mercurius + JIT', 'mercurius.ts'),
  library('apollo', 'Apollo Server + RESTDataSource', 'apollo.ts'),
  library('yoga', 'Yoga + Pothos, defaults', 'yoga-pothos.ts'),
  {
    name: 'hive',
    title: 'Hive Gateway + Mesh OpenAPI',
    isJavaScriptGateway: true,
    api: restNamed('', 'first'),
    prepare: async () => {
      const compose = `${BENCH}node_modules/@graphql-mesh/compose-cli/esm/bin.js`;
      const args = ['-c', 'peers/mesh.config.ts', '-o', 'results/supergraph.graphql'];
      await exec(process.execPath, [compose, ...args], { cwd: BENCH });
      return null;
    },
    command: ({ port, upstreamUrl }) => ({
      file: process.execPath,
      args: [
        `${BENCH}node_modules/@graphql-hive/gateway/dist/bin.js`,
        ...['--config-path', 'peers/hive.config.ts', '--host', '127.0.0.1'],
        ...['--port', String(port), 'supergraph'],
      ],
      environment: { UPSTREAM_URL: upstreamUrl },
    }),
  },
  {
    name: 'tailcall',
    title: 'Tailcall (Rust)',
    isJavaScriptGateway: false,
    api: restNamed(null),
    prepare: async () => {
      const { error, stderr } = spawnSync(tailcall, [...tailcallArgs, '--version'], {
        encoding: 'utf8',
      });
      return error?.message ?? /version `(.+)' not found/.exec(stderr)?.[0] ?? null;
    },
    command: ({ port, upstreamUrl }) => {
      const config = `${BENCH}results/tailcall.json`;
      const settings = {
        server: { hostname: '127.0.0.1', port },
        upstream: { allowedHeaders: ['authorization'] },
        links: [{ type: 'Config', src: `${BENCH}peers/tailcall.graphql` }],
      };
      writeFileSync(config, JSON.stringify(settings));
      // disables telemetry
      const environment = { TAILCALL_TRACKER: 'false', TC_TRACKER: 'false' };
      return {
        file: tailcall,
        args: [...tailcallArgs, 'start', config],
        environment: { ...environment, UPSTREAM_URL: upstreamUrl },
      };
    },
  },
];

/** Whether a peer runs a load. `npm start` is measured for its cold start, and only Keytrail runs {@link PAGES}. */
export function runsLoad({ name }: Peer, load: Load): boolean {
  if (PAGES.includes(load)) return name === 'keytrail';
  return name !== 'npm-start' || load.name === 'small';
}
