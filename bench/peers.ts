import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  type Api,
  graph,
  hiveGraph,
  keytrailGraph,
  projected,
  rest,
  tailcallGraph,
} from './apis.ts';
import { LOADS, type Load, PAGES, toTrail } from './loads.ts';
import type { Command } from './processes.ts';

/** A gateway in front of the service, set up as its users run it. */
export type Peer = {
  /** As `--peer` takes it. */
  readonly name: string;
  /** For tables. */
  readonly title: string;
  readonly api: Api;
  /** Builds it, once per run. Rejects if it cannot run on this machine. */
  readonly prepare?: () => Promise<unknown>;
  /** How it starts on a loopback port. */
  readonly command: (port: string, upstreamUrl: string) => Command;
};

/** This folder. */
export const BENCH = fileURLToPath(new URL('.', import.meta.url));
/** The repository. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url));

const exec = promisify(execFile);

/** A program of the folder `peers`. */
function script(file: string, ...args: readonly string[]): Peer['command'] {
  return (PORT, UPSTREAM_URL) => ({
    file: process.execPath,
    args: [`${BENCH}peers/${file}`, ...args],
    environment: { PORT, UPSTREAM_URL },
  });
}

function library(file: string, title: string, ...args: readonly string[]): Peer {
  const name = [file, ...args].join('-');
  return { name, title, api: graph, command: script(`${file}.ts`, ...args) };
}

/** Keytrail from a checkout, built and started as its image does it, with the contract of a file if one is given. */
export function keytrail(name: string, title: string, folder: string, contract?: string): Peer {
  const checkout = resolve(folder);
  return {
    name,
    title,
    api: keytrailGraph,
    prepare: async () => {
      await exec('npm', ['run', '--silent', 'build'], { cwd: checkout });
      if (contract !== undefined) await learnContract(checkout, contract);
    },
    command: (PORT, UPSTREAM_URL) => {
      const dockerfile = readFileSync(`${checkout}/deploy/Dockerfile`, 'utf8');
      const read = (pattern: RegExp) => pattern.exec(dockerfile)?.[1] ?? '';
      const entrypoint: readonly string[] = JSON.parse(read(/^ENTRYPOINT (.*)$/m));
      const variables = read(/^ENV (.*)$/m).split(' ');
      return {
        file: process.execPath,
        args: [...entrypoint.slice(1, -1), `${checkout}/dist/image/main.js`],
        environment: {
          ...Object.fromEntries(variables.map((variable) => variable.split('='))),
          ...{ HOST: '127.0.0.1', PORT, METRICS_PORT: '0', UPSTREAM_URL },
          ...(contract !== undefined && { KEYTRAIL_CONTRACT: contract }),
        },
      };
    },
  };
}

/** The contract that a checkout's `keytrail learn --complete` prints for the service of the loads. */
async function learnContract(checkout: string, file: string): Promise<void> {
  const response = `${BENCH}results/response.json`;
  writeFileSync(response, JSON.stringify(toTrail(LOADS[0]?.records ?? 0)));
  const args = [
    `${checkout}/dist/keytrail/dist/main.js`,
    'learn',
    '--complete',
    '--from',
    response,
  ];
  const { stdout } = await exec(process.execPath, args);
  writeFileSync(file, stdout);
}

/** Where the contract of the peer `contract` is written. */
export const CONTRACT = `${BENCH}results/contract.json`;

const TAILCALL = `${BENCH}node_modules/@tailcallhq/core-linux-x64-gnu/bin/tailcall`;

/** A folder with glibc 2.39 or newer, if the machine's is older. */
const GLIBC = process.env['TAILCALL_GLIBC'];

const [tailcall = '', ...tailcallArgs] =
  GLIBC === undefined
    ? [TAILCALL]
    : [`${GLIBC}/ld-linux-x86-64.so.2`, '--library-path', GLIBC, TAILCALL];

/** All peers in the order of tables. Ratios are relative to the first. */
export const PEERS: readonly Peer[] = [
  { name: 'l0', title: 'L0', api: rest, command: script('bare-node.ts', 'l0') },
  { name: 'l1', title: 'L1', api: projected, command: script('bare-node.ts', 'l1') },
  { name: 'l2', title: 'L2', api: graph, command: script('bare-node.ts', 'l2') },
  keytrail('keytrail', 'Keytrail', ROOT),
  keytrail('contract', 'Keytrail, contract of `learn`', ROOT, CONTRACT),
  {
    name: 'npm-start',
    title: 'Keytrail, `npm start`',
    api: keytrailGraph,
    command: (PORT, UPSTREAM_URL) => ({
      file: 'npm',
      args: ['start', '--silent', '--prefix', ROOT],
      environment: { HOST: '127.0.0.1', PORT, UPSTREAM_URL },
    }),
  },
  library('mercurius', 'Mercurius + JIT'),
  library('mercurius', 'Mercurius + JIT, log line per request', 'log'),
  library('apollo', 'Apollo Server + RESTDataSource'),
  library('yoga', 'Yoga + Pothos, defaults'),
  {
    name: 'hive',
    title: 'Hive Gateway + Mesh OpenAPI',
    api: hiveGraph,
    prepare: () => {
      const compose = `${BENCH}node_modules/@graphql-mesh/compose-cli/esm/bin.js`;
      const args = ['-c', 'peers/mesh.config.ts', '-o', 'results/supergraph.graphql'];
      return exec(process.execPath, [compose, ...args], { cwd: BENCH });
    },
    command: (port, UPSTREAM_URL) => ({
      file: process.execPath,
      args: [
        `${BENCH}node_modules/@graphql-hive/gateway/dist/bin.js`,
        ...['--config-path', 'peers/hive.config.ts', '--host', '127.0.0.1'],
        ...['--port', port, 'supergraph'],
      ],
      environment: { UPSTREAM_URL },
    }),
  },
  {
    name: 'tailcall',
    title: 'Tailcall (Rust)',
    api: tailcallGraph,
    prepare: () => exec(tailcall, [...tailcallArgs, '--version']),
    command: (port, UPSTREAM_URL) => {
      const config = `${BENCH}results/tailcall.json`;
      const settings = {
        server: { hostname: '127.0.0.1', port: Number(port) },
        upstream: { allowedHeaders: ['authorization'] },
        links: [{ type: 'Config', src: `${BENCH}peers/tailcall.graphql` }],
      };
      writeFileSync(config, JSON.stringify(settings));
      return {
        file: tailcall,
        args: [...tailcallArgs, 'start', config],
        // disables telemetry
        environment: { TAILCALL_TRACKER: 'false', TC_TRACKER: 'false', UPSTREAM_URL },
      };
    },
  },
];

/** The other gateways in JavaScript; Keytrail has to be ahead of them. */
export const JAVASCRIPT_GATEWAYS = ['mercurius', 'apollo', 'yoga', 'hive'];

/** Whether a peer runs a load. `npm start` is measured for its cold start, and only Keytrail runs {@link PAGES}. */
export function runsLoad({ name }: Peer, load: Load): boolean {
  if (PAGES.includes(load)) return name === 'keytrail';
  return name !== 'npm-start' || load.name === 'small';
}
