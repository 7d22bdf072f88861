import { ConfigError } from '../config-error.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { CommandLine } from './command-line.ts';
import { greet } from './greeting.ts';
import type { Host } from './host.ts';
import { serveMetrics } from './metrics.ts';
import { loadSettings } from './settings.ts';

/**
 * Serves the graph until the process is asked to stop, and gives the exit status.
 * @throws ConfigError for wrong settings, and what Node says when the port cannot be had.
 */
export async function serve(host: Host, commandLine: CommandLine): Promise<number> {
  const { config, contract, tls } = loadSettings(host, commandLine);
  if (config.UPSTREAM_URL !== undefined && commandLine.data !== undefined) {
    throw new ConfigError(['--data is for the sandbox, and with UPSTREAM_URL there is none.']);
  }
  await using sandbox =
    config.UPSTREAM_URL === undefined
      ? await (await import('./sandbox.ts')).startSandbox(host, {
          host: '127.0.0.1',
          port: 0,
          file: commandLine.data,
        })
      : null;
  const upstreamUrl = config.UPSTREAM_URL?.href ?? sandbox?.url ?? '';
  const playground = config.PLAYGROUND ? toPlayground(sandbox) : null;
  const { prepare } = await (config.WORKERS === 1
    ? import('./serving.ts')
    : import('./workers.ts'));
  const serving = await prepare(host, { config, contract, tls, upstreamUrl, playground });
  await using metrics =
    serving.metrics === undefined
      ? null
      : await serveMetrics(serving.metrics, config.METRICS_PORT ?? 0);

  return await serving.run((origin) => {
    const { version, stderr } = host;
    const hasPlayground = config.PLAYGROUND;
    const metricsUrl = metrics?.url;
    stderr.write(greet({ version, origin, upstreamUrl, hasPlayground, sandbox, metricsUrl }));
  });
}

function toPlayground(sandbox: Sandbox | null) {
  const [, login, toDelete] = sandbox?.clients ?? []; // the first one is for the greeting
  return {
    clientId: login?.clientId,
    clientSecret: login?.secret,
    keyToDelete: toDelete?.clientId,
  };
}
