import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitMemberName } from '../../../src/gateway/mapping/member-names.ts';
import { isCacheableKey } from '../../../src/util/memoize.ts';

const wordsOf = (key: string) => splitMemberName(key).words;

describe('the words of a name', () => {
  it.each([
    ['createdAt', 'created at'],
    ['CREATED-AT', 'created at'],
    ['@odata.nextLink', 'odata next link'],
    ['@type', 'type'],
    ['eventid', 'event id'],
  ])('of %j are %j', (key, words) => {
    expect(wordsOf(key)).toBe(words);
  });

  it('are not cached where the name is an e-mail address', () => {
    fc.assert(
      fc.property(
        fc.emailAddress(),
        fc.constantFrom('', 'user/', 'actor '),
        (address, before) => !isCacheableKey(before + wordsOf(address)),
      ),
    );
  });

  it('are not cached where the name is too long for one', () => {
    const text = fc.string({ minLength: 81, unit: 'binary' });
    fc.assert(fc.property(text, (key) => !isCacheableKey(wordsOf(key))));
  });
});
