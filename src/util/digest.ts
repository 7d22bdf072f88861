import { hash } from 'node:crypto';

/**
 * SHA-256 in base64url. 22 characters have 132 bits: nobody can make two texts with the same ones.
 * @param length Default: all 43 characters.
 */
export function digest(text: string, length?: number): string {
  return hash('sha256', text, 'base64url').slice(0, length);
}
