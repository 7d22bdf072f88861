import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Dialect, graph, mirrored, projected, rest } from './dialects.ts';

/** Something that stands before the service, measured as users run it. */
export type Peer = {
  /** As `--peer` takes it. */
  readonly name: string;
  /** For tables. */
  readonly title: string;
  readonly isJavaScript: boolean;
  readonly dialect: Dialect;
  /** Is called once, before all measurements; gives the reason why it cannot run here, or null. */
  readonly prepare?: () => Promise<string | null>;
  /** How it starts, on a loopback port. */
  readonly command: (at: Place) => Command;
};

/** Where a peer stands. */
export type Place = { readonly port: number; readonly upstreamUrl: string };

/** A program with its arguments and, besides NODE_ENV=production, its environment. */
export type Command = {
  readonly file: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
};

/** This folder. */
export const BENCH = fileURLToPath(new URL('.', import.meta.url));
/** The repository. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url));

const own = (file: string): Pick<Peer, 'command'> => ({
  command: ({ port, upstreamUrl }) => ({
    file: process.execPath,
    args: [`${BENCH}peers/${file}`],
    environment: { PORT: String(port), UPSTREAM_URL: upstreamUrl },
  }),
});

const TAILCALL = `${BENCH}node_modules/@tailcallhq/core-linux-x64-gnu/bin/tailcall`;

/** Tailcall wants glibc 2.39; where the machine's own is older, this may name a folder with another one. */
const GLIBC = process.env['TAILCALL_GLIBC'];

/** The program and how it is called, with another glibc if there is one. */
const [tailcall = '', ...tailcallArgs] =
  GLIBC === undefined
    ? [TAILCALL]
    : [`${GLIBC}/ld-linux-x86-64.so.2`, '--library-path', GLIBC, TAILCALL];

/** All peers in the order of tables; the first is the measure of the others. */
export const PEERS: readonly Peer[] = [
  {
    name: 'l0',
    title: 'L0',
    isJavaScript: false, // it does less than any gateway, so none has to be ahead of it
    dialect: rest,
    ...own('l0.ts'),
  },
  {
    name: 'l1',
    title: 'L1',
    isJavaScript: false,
    dialect: projected,
    ...own('l1.ts'),
  },
  {
    name: 'l2',
    title: 'L2',
    isJavaScript: false,
    dialect: graph,
    ...own('l2.ts'),
  },
  {
    name: 'keytrail',
    title: 'Keytrail',
    isJavaScript: true,
    dialect: graph,
    prepare: async () => {
      await promisify(execFile)('npm', ['run', '--silent', 'build'], { cwd: ROOT });
      return null;
    },
    command: ({ port, upstreamUrl }) => {
      const image = readImage();
      const here = { HOST: '127.0.0.1', PORT: String(port), METRICS_PORT: '0' };
      return {
        file: process.execPath,
        args: [...image.options, `${ROOT}dist/image/main.js`],
        environment: { ...image.environment, ...here, UPSTREAM_URL: upstreamUrl },
      };
    },
  },
  {
    name: 'mercurius',
    title: 'Mercurius + JIT',
    isJavaScript: true,
    dialect: graph,
    ...own('mercurius.ts'),
  },
  {
    name: 'apollo',
    title: 'Apollo Server + RESTDataSource',
    isJavaScript: true,
    dialect: graph,
    ...own('apollo.ts'),
  },
  {
    name: 'yoga',
    title: 'Yoga + Pothos, defaults',
    isJavaScript: true,
    dialect: graph,
    ...own('yoga-pothos.ts'),
  },
  {
    name: 'hive',
    title: 'Hive Gateway + Mesh OpenAPI',
    isJavaScript: true,
    dialect: mirrored({ deleted: '', window: 'first' }),
    prepare: async () => {
      const compose = `${BENCH}node_modules/@graphql-mesh/compose-cli/esm/bin.js`;
      const args = ['-c', 'peers/mesh.config.ts', '-o', 'results/supergraph.graphql'];
      await promisify(execFile)(process.execPath, [compose, ...args], { cwd: BENCH });
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
    isJavaScript: false,
    dialect: mirrored({ deleted: null, window: null }),
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
      // It would otherwise tell its makers of each start.
      const environment = { TAILCALL_TRACKER: 'false', TC_TRACKER: 'false' };
      return {
        file: tailcall,
        args: [...tailcallArgs, 'start', config],
        environment: { ...environment, UPSTREAM_URL: upstreamUrl },
      };
    },
  },
];

/** Node's options, and the environment, that the image gives Keytrail. */
function readImage() {
  const dockerfile = readFileSync(`${ROOT}deploy/Dockerfile`, 'utf8');
  const read = (instruction: string) =>
    new RegExp(`^${instruction} (.*)$`, 'm').exec(dockerfile)?.[1] ?? '';
  const entrypoint: readonly string[] = JSON.parse(read('ENTRYPOINT'));
  const variables = read('ENV').split(' ');
  const environment: Readonly<Record<string, string>> = Object.fromEntries(
    variables.map((variable) => variable.split('=')),
  );
  return { options: entrypoint.slice(1, -1), environment };
}

/** `npm start`: Keytrail from source. */
export const NPM_START: Peer['command'] = ({ port, upstreamUrl }) => ({
  file: 'npm',
  args: ['start', '--silent', '--prefix', ROOT],
  environment: { HOST: '127.0.0.1', PORT: String(port), UPSTREAM_URL: upstreamUrl },
});
