import { inferDeletion } from '../../inference/deletion.ts';
import { toKey } from '../../mapping/deletion.ts';
import { compilePointer } from '../../mapping/json-pointer.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';
import { hideKeys, isSecret } from '../show-value.ts';
import type { ReadyLine } from './format.ts';

/** Longer texts are shown in no line: they are sentences with names in them, or credentials. */
const MAX_LENGTH = 80;

/** Suggests the entries that correct how the response to a deletion is read: none if only its HTTP status decides. */
export function suggestDeletion(response: UpstreamResponse): readonly ReadyLine[] {
  const { result, at } = inferDeletion(response, '');
  return (at ?? []).flatMap((pointer) => {
    const value = compilePointer(pointer)(response.body);
    const key = toKey(value);
    const isShown = key.length <= MAX_LENGTH && hideKeys(key) === key && !isSecret(pointer, value);
    if (!isShown) return [];
    return {
      contract: { deletion: { outcome: { at: pointer, map: { [key]: result ?? 'DELETED' } } } },
      describe: () => (result === null ? 'not understood' : `read as ${result}`),
    };
  });
}
