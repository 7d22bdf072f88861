import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { CommandLine } from '../cli/command-line.ts';
import type { Runtime } from '../cli/runtime.ts';
import type { ConfiguredContract } from '../mapping/contract.ts';
import type { RestClientOptions } from '../upstream/rest-client.ts';
import { ConfigError } from './config-error.ts';
import { parseContract } from './contract-file.ts';
import { type Config, type Environment, loadConfig } from './load.ts';

/** Everything that was set, checked. */
export type Settings = {
  readonly config: Config;
  readonly contract: ConfiguredContract;
  readonly tls: NonNullable<RestClientOptions['tls']>;
};

/**
 * Puts the options over the variables and reads the files that they name.
 * @throws ConfigError that names every problem of the command line, the settings and the files at once.
 */
export function loadSettings(host: Runtime, { environment, problems }: CommandLine): Settings {
  const merged: Environment = { ...host.environment, ...environment };
  const found = [...problems];
  const attempt = <T>(work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      found.push(...error.problems);
      return undefined;
    }
  };
  const pem = (variable: string) => attempt(() => readPem(variable, merged[variable]));
  const config = attempt(() => loadConfig(merged));
  const files = {
    ca: pem('UPSTREAM_CA_FILE'),
    cert: pem('UPSTREAM_CERT_FILE'),
    key: pem('UPSTREAM_KEY_FILE'),
  };
  attempt(() => checkPair(files));
  const contract = attempt(() => readContract(merged['KEYTRAIL_CONTRACT'])) ?? {};
  const tls = Object.fromEntries(Object.entries(files).filter(([, text]) => text !== undefined));
  if (config === undefined || found.length > 0) throw new ConfigError(found);
  return { config, contract, tls };
}

function readPem(variable: string, file: string | undefined): string | undefined {
  if (!file) return undefined;
  try {
    const text = readFileSync(file, 'utf8');
    createSecureContext(variable === 'UPSTREAM_KEY_FILE' ? { key: text } : { cert: text });
    if (!text.includes('-----BEGIN ')) throw new Error('An empty file passes for a certificate.');
    return text;
  } catch {
    throw new ConfigError([`${variable} must be the path of a PEM file that can be read.`]);
  }
}

function readContract(file: string | undefined): ConfiguredContract {
  if (!file) return {};
  const parsed = parseContract(readText(file));
  if ('contract' in parsed) return parsed.contract;
  throw new ConfigError(parsed.problems.map((problem) => `KEYTRAIL_CONTRACT: ${problem}`));
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new ConfigError(['KEYTRAIL_CONTRACT must be the path of a JSON file that can be read.']);
  }
}

function checkPair({
  cert,
  key,
}: {
  readonly cert: string | undefined;
  readonly key: string | undefined;
}): void {
  if (cert === undefined || key === undefined) return;
  try {
    createSecureContext({ cert, key });
  } catch {
    throw new ConfigError(['UPSTREAM_KEY_FILE must hold the key of UPSTREAM_CERT_FILE.']);
  }
}
