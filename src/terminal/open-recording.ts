import { decodeSaved } from '../gateway/api/decode-saved.ts';
import type { TrailSource } from '../gateway/api/read-trail.ts';
import { ConfigError } from '../gateway/config/config-error.ts';
import { quote } from '../gateway/config/value-types.ts';
import { findResponse, parseRecording, type Recording } from '../util/recording.ts';

/**
 * Opens a recording as a source of pages.
 * @throws ConfigError if the text is none, or has an entry that cannot be played back. Its `get` throws one for a request that was not recorded.
 */
export function openRecording(
  text: string,
  file: string,
): TrailSource & { readonly size: number } & Pick<Recording, 'contract'> {
  const recording = parse(text, file);
  return {
    url: new URL(recording.url),
    size: recording.responses.size,
    contract: recording.contract,
    get: async ({ value }) => {
      const found = findResponse(recording, value);
      if (found !== undefined) return decodeSaved(found, 'list');
      const problem = 'has no response to a request that this contract leads to. Record it again.';
      throw new ConfigError([`${quote(file)} ${problem}`]);
    },
  };
}

function parse(text: string, file: string): Recording {
  try {
    return parseRecording(text);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new ConfigError([`${quote(file)}: ${error.message}`]);
  }
}
