import { setImmediate as nextIteration } from 'node:timers/promises';
import { sizeUpTo } from './use-limits.ts';

/** What is serialized in one step, in characters: 1 MB takes 10 ms. */
const PIECE_LENGTH = 2 ** 20;

/** Whether a value takes more than one step to serialize. */
export function isLarge(value: unknown, pieceLength = PIECE_LENGTH): boolean {
  return sizeUpTo(pieceLength, value) > pieceLength;
}

/**
 * Serializes a value as JSON in UTF-8, in pieces of 1 MB. After each piece, other work of the event loop comes first: in
 * one step, 16 MB hold up all other requests by 0.3 s.
 */
export async function serializeInPieces(
  value: unknown,
  pieceLength = PIECE_LENGTH,
): Promise<readonly Buffer[]> {
  const pieces: Buffer[] = [];
  let text = '';
  const endPiece = () => {
    pieces.push(Buffer.from(text));
    text = '';
    return nextIteration();
  };
  const add = async (part: unknown): Promise<void> => {
    if (
      typeof part !== 'object' ||
      part === null ||
      'toJSON' in part ||
      !isLarge(part, pieceLength)
    ) {
      text += JSON.stringify(part) ?? 'null'; // undefined in a list
      return;
    }
    const isList = Array.isArray(part);
    text += isList ? '[' : '{';
    let separator = '';
    for (const [key, member] of Object.entries(part)) {
      if (!isList && member === undefined) continue;
      text += isList ? separator : `${separator}${JSON.stringify(key)}:`;
      separator = ',';
      await add(member);
      if (text.length >= pieceLength) await endPiece();
    }
    text += isList ? ']' : '}';
  };
  await add(value);
  pieces.push(Buffer.from(text));
  return pieces;
}
