/** Decodes a body; throws if it is not UTF-8. */
export const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/** Whether a JSON text may contain an integer beyond 2^53, which `JSON.parse` rounds. */
export function isInexact(json: string): boolean {
  return /\d{16}|\d[eE]/.test(json);
}
