import { readDeletion } from '../../gateway/mapping/deletion.ts';
import { compilePointer } from '../../gateway/mapping/json-pointer.ts';
import { toKey } from '../../gateway/mapping/values.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';
import type { ReadyLine } from './format.ts';

/** What may decide if a response is that to a deletion. */
export type DeletionSuggestions = {
  /** Entries for flags, counts and lists. */
  readonly lines: readonly ReadyLine[];
  /** Pointers of texts. None is shown: the response may be that of a login. */
  readonly texts: readonly string[];
};

/** Suggests the entries that correct how the response to a deletion is read: none if only its HTTP status decides. */
export function suggestDeletion(response: UpstreamResponse): DeletionSuggestions {
  const { result, at } = readDeletion(response, {}, '');
  const places = at.map((pointer) => ({
    pointer,
    value: compilePointer(pointer)(response.body),
  }));
  const isHidden = ({ value }: { readonly value: unknown }) =>
    typeof value === 'string' || (typeof value === 'number' && !Number.isSafeInteger(value));
  return {
    lines: places
      .filter((place) => !isHidden(place) && toKey(place.value).length < 6)
      .map(({ pointer, value }) => ({
        contract: {
          deletion: { outcome: { at: pointer, map: { [toKey(value)]: result ?? 'DELETED' } } },
        },
        describe: () => (result === null ? 'not understood' : `read as ${result}`),
      })),
    texts: places.filter(isHidden).map(({ pointer }) => pointer),
  };
}
