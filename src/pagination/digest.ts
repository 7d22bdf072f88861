import { hash } from 'node:crypto';

/** 132 bits of SHA-256 in base64url: nobody can make two records whose digests are equal. */
export const DIGEST_LENGTH = 22;

/** The digest of an id, or of a record as JSON. */
export function digest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, DIGEST_LENGTH);
}
