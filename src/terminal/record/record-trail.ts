import { isDeepStrictEqual } from 'node:util';
import { eventsOf, type MappedPage, readTrail } from '../../gateway/api/read-trail.ts';
import { EVENT_ENTRIES } from '../../gateway/inference/event-entries.ts';
import { explainMissingToken, toReadableLogin } from '../../gateway/inference/login.ts';
import type { ConfiguredContract } from '../../gateway/mapping/contract.ts';
import { readLogin } from '../../gateway/mapping/login.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';
import { formatHar } from './har.ts';
import { type Recorded, redact } from './redact.ts';

/** Maps a saved response to a login. @throws GatewayError without an access token. */
export function mapLogin(response: UpstreamResponse, configured: ConfiguredContract) {
  const { errors, isConfigured, ...contract } = toReadableLogin(response, configured);
  const explainMissing = () => explainMissingToken(response, configured.login);
  const tokens = readLogin(
    { ...contract, errors, isConfigured },
    response,
    new Date(0),
    explainMissing,
  );
  return { response, contract, tokens };
}

/**
 * Redacts responses and formats them as a recording.
 * @param open opens a text as a recording.
 * @returns why there is no recording, or its text: it is mapped as the responses are, and holds no credential.
 */
export async function createRecording(
  recorded: Recorded & { readonly login: ReturnType<typeof mapLogin> | null },
  open: (text: string) => Parameters<typeof readTrail>[0],
  creator: Parameters<typeof formatHar>[4],
) {
  const { url, pages, configured } = recorded;
  const { holdsCredential, login, ...redacted } = redact(recorded);
  const responses = redacted.pages.values();
  const get = async () => responses.next().value ?? { status: 200, headers: {}, body: null };
  // The URLs are those to which the redacted links and cursors lead.
  const redactedPages = await readTrail({ url, get }, configured, pages.length);
  const text = formatHar(url, redactedPages, login, configured, creator);
  const copy = await readTrail(open(text), configured, pages.length);
  const loginCopy = login && mapLogin(login, configured);
  const isSame = isDeepStrictEqual(describe(copy, loginCopy), describe(pages, recorded.login));
  return { text, isSame, holdsCredential: holdsCredential(text), ...redacted };
}

/** Describes how responses are mapped: times and outcomes as they are; of other values, which of them are equal. */
function describe(pages: readonly MappedPage[], login: ReturnType<typeof mapLogin> | null) {
  const events = eventsOf(pages);
  const fields = EVENT_ENTRIES.map(({ name, read }) => {
    const values = events.map(read);
    const indices = new Map(values.map((value, index) => [value, index]));
    const isKept = name === 'occurredAt' || name === 'outcome';
    return isKept ? values : values.map((value) => value && indices.get(value));
  });
  const keys = events.map(({ actor, target }) => [actor, target].map((one) => one?.apiKey != null));
  const lists = pages.map(({ contract, events: { length } }) => [contract, length]);
  const { tokenType, expiresAt, refreshToken } = login?.tokens ?? {};
  return [fields, keys, lists, login?.contract, tokenType, expiresAt, refreshToken && true];
}
