import { GatewayError } from '../errors.ts';
import { eventsOf, readTrail } from '../gateway/api/read-trail.ts';
import { ConfigError } from '../gateway/config/config-error.ts';
import { quote } from '../gateway/config/value-types.ts';
import type { ConfiguredContract } from '../gateway/mapping/contract.ts';
import type { UpstreamResponse } from '../util/upstream-response.ts';
import { wrap } from '../util/wrap.ts';
import type { CommandLine } from './command-line.ts';
import { connect } from './live-service.ts';
import { LocalFailure, toUnwritten } from './local-failure.ts';
import { openRecording } from './open-recording.ts';
import { print } from './output.ts';
import { loadSaved } from './read-responses.ts';
import { createRecording, mapLogin } from './record/record-trail.ts';
import type { CommandRuntime } from './runtime.ts';
import { cut } from './show-value.ts';

/**
 * Runs `keytrail record`: reads pages of the trail of a live service, and writes them without credentials and personal
 * data to a file that maps as they do.
 * @returns the exit status: 1 if the file would map differently, or hold a credential. Then it is not written.
 * @throws ConfigError for invalid settings and files, GatewayError if the service is not reached or refuses.
 */
export async function record(runtime: CommandRuntime, commandLine: CommandLine): Promise<number> {
  const { to, pages: maxPages, login: file } = commandLine;
  await using service = await connect(runtime, commandLine, 'record');
  if (to === undefined) throw new ConfigError(['record needs a file to write, as in --to FILE.']);
  const { url, contract: configured } = service;
  const login =
    file === undefined ? null : readSavedLogin(loadSaved(runtime, '--login', file), configured);
  const pages = await readTrail(service, configured, maxPages);
  const { accessToken = '', refreshToken } = login?.tokens ?? {};
  const credentials = [...(await service.credentials()), accessToken, refreshToken ?? ''];
  const recorded = { url, pages, login, configured, credentials };
  const open = (text: string) => openRecording(text, to);
  const recording = await createRecording(recorded, open, runtime).catch((error) => {
    if (error instanceof GatewayError || error instanceof ConfigError) return null;
    throw error;
  });
  if (!recording?.isSame || recording.holdsCredential) {
    const problem = recording?.isSame
      ? 'it would contain a credential'
      : 'without credentials and personal data, it would be mapped differently';
    runtime.stderr.write(`keytrail record: ${quote(to)} is not written: ${problem}.\n`);
    return 1;
  }
  const { text, standIns, kept } = recording;
  try {
    if (to === STDOUT) await print(runtime, text);
    else await runtime.replaceFile(to, text, runtime.createId());
  } catch (error) {
    if (error instanceof LocalFailure) throw error;
    const other = `Name a regular file, or a new one in a folder that exists and that you may write to; or ${STDOUT}, for a pipe.`;
    throw toUnwritten(`--to ${JSON.stringify(to)}`, error, other);
  }
  const counts = `records ${eventsOf(pages).length}, pages ${pages.length}, stand-ins ${standIns}`;
  const lines = [
    `Recorded to ${quote(to)}: ${counts}.`,
    ...formatKept(
      'Texts that stayed in the records',
      kept.filter((one) => !one.startsWith('#')),
    ),
    ...formatKept(
      'Texts that stayed around them',
      kept.filter((one) => one.startsWith('#')),
    ),
  ];
  runtime.stderr.write(`${lines.flatMap((line) => wrap(line, '  ')).join('\n')}\n`);
  return 0;
}

/** Written as a stream, also if it is a pipe or a file that another program has opened. */
const STDOUT = '/dev/stdout';

/** @throws ConfigError without an access token. */
function readSavedLogin(response: UpstreamResponse, configured: ConfiguredContract) {
  try {
    return mapLogin(response, configured);
  } catch {
    throw new ConfigError(['--login: the response has no access token.']);
  }
}

/** Lists pointers, which are shown without the # of those around the records. */
function formatKept(what: string, pointers: readonly string[]): readonly string[] {
  const shown = pointers.map((pointer) => cut(pointer.replace('#', ''), 60));
  return shown.length === 0 ? [] : [`${what}: ${shown.join(', ')}.`];
}
