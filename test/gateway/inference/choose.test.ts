import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHOSEN_ENTRIES } from '../../../src/gateway/inference/candidates.ts';
import { type Choices, chooseFields } from '../../../src/gateway/inference/choose.ts';
import { inferEvent } from '../../../src/gateway/inference/event.ts';
import { readPointers } from '../../../src/gateway/inference/event-entries.ts';
import { examineRecords } from '../../../src/gateway/inference/record-fields.ts';
import { kindsOf } from '../../../src/gateway/inference/value-kind.ts';
import { memberAt } from '../../../src/gateway/mapping/read-entry.ts';
import { parseHttpStatus, parseOutcome } from '../../../src/gateway/mapping/values.ts';
import { samplesOf } from '../../shapes/shapes.ts';
import { recordsOf } from '../../shapes/training.ts';

const samples = samplesOf('audit').map((sample) => ({
  name: sample.name,
  records: recordsOf(sample),
}));

const chooseAmong = (records: readonly unknown[]) => chooseFields(examineRecords(records));

const chosen = (choices: Choices) =>
  CHOSEN_ENTRIES.map((entry) => choices[entry].chosen.map(({ pointer }) => pointer));

const firstField = (records: readonly unknown[]) => examineRecords(records).fields[0]?.pointer;

/** Ranks texts in an order that the salt decides (FNV-1). */
const rankBy = (salt: number) => (text: string) =>
  [...text].reduce((sum, one) => Math.imul(sum ^ one.charCodeAt(0), 16_777_619), salt);

/** Changes the order of the members of every object. */
function sortMembers(value: unknown, rank: (key: string) => number): unknown {
  if (Array.isArray(value)) return value.map((item) => sortMembers(item, rank));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).toSorted(([a], [b]) => rank(a) - rank(b));
  return Object.fromEntries(members.map(([key, member]) => [key, sortMembers(member, rank)]));
}

const parentOf = (pointer: string) => pointer.slice(0, pointer.lastIndexOf('/'));

/** Replaces letters and digits by others, if the text then has the same form. */
function toOtherText(text: string): string {
  const other = text.replace(/[a-z]/gi, (letter) => {
    const first = letter < 'a' ? 65 : 97;
    return String.fromCharCode(((letter.charCodeAt(0) - first + 13) % 26) + first);
  });
  const isOutcome = [text, other].some(
    (one) => parseOutcome(one) !== null || parseHttpStatus(one) !== null,
  );
  const isSameForm = kindsOf([text]).kind === kindsOf([other]).kind;
  return isSameForm && !isOutcome ? other : text;
}

function toOtherTexts(value: unknown): unknown {
  if (typeof value === 'string') return toOtherText(value);
  if (Array.isArray(value)) return value.map(toOtherTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, toOtherTexts(member)]),
  );
}

describe('the fields that are chosen', () => {
  it.each(samples)('are all in the contract: $name', ({ records }) => {
    const choices = chooseAmong(records);
    const contract = inferEvent(records);
    const read = CHOSEN_ENTRIES.map((entry) => readPointers(memberAt(contract, entry)));
    // An outcome in a member of free form counts only if there is no other.
    const ofOutcome = CHOSEN_ENTRIES.indexOf('outcome');
    for (const [column, pointers] of chosen(choices).entries())
      if (column !== ofOutcome) expect(read[column]).toEqual(expect.arrayContaining([...pointers]));
  });

  it('depend on the forms of texts only, not on their words', () => {
    expect(toOtherTexts({ a: ['key.delete', 'Ann', 7] })).toEqual({ a: ['xrl.qryrgr', 'Naa', 7] });
    for (const { name, records } of samples)
      expect(chooseAmong(records.map(toOtherTexts)), name).toEqual(chooseAmong(records));
  });

  it('are the same in any order of members, unless another one is first', () => {
    fc.assert(
      fc.property(fc.constantFrom(...samples), fc.nat(), ({ name, records }, salt) => {
        const rank = rankBy(salt);
        const shuffled = records.map((record) => sortMembers(record, rank));
        fc.pre(firstField(shuffled) === firstField(records));
        const [before, after] = [records, shuffled].map((some) => chosen(chooseAmong(some)));
        expect(after, name).toEqual(before);
      }),
    );
  });

  it('are never others because of the order of records or members: at most they become uncertain', () => {
    fc.assert(
      fc.property(fc.constantFrom(...samples), fc.nat(), ({ name, records }, salt) => {
        const rank = rankBy(salt);
        const shuffled = records
          .map((record) => sortMembers(record, rank))
          .toSorted((a, b) => rank(JSON.stringify(a)) - rank(JSON.stringify(b)));
        // Of the names of one party, any is right.
        const [before, after] = [records, shuffled].map((some) =>
          chosen(chooseAmong(some)).map((pointers, index) =>
            CHOSEN_ENTRIES[index]?.endsWith('.name') ? pointers.map(parentOf) : pointers,
          ),
        );
        for (const [index, pointers] of (after ?? []).entries()) {
          const other = before?.[index] ?? [];
          const [few, many] =
            pointers.length < other.length ? [pointers, other] : [other, pointers];
          expect(many, `${name} ${CHOSEN_ENTRIES[index]}`).toEqual(
            expect.arrayContaining([...few]),
          );
        }
      }),
    );
  });

  it('are found among any records', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ maxDepth: 4 })), (records) => {
        const choices = chooseAmong(records);
        for (const entry of CHOSEN_ENTRIES)
          for (const { confidence } of [...choices[entry].chosen, ...choices[entry].others]) {
            expect(confidence).toBeGreaterThan(0);
            expect(confidence).toBeLessThanOrEqual(1 + 1e-9);
          }
        inferEvent(records);
      }),
    );
  });
});
