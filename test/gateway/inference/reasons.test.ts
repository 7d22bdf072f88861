import { expect, it } from 'vitest';
import { describeFeature, weighRecords } from '../../../src/gateway/inference/reasons.ts';
import weights from '../../../src/gateway/inference/weights.json' with { type: 'json' };

it('every feature with weights has words, and none has those of a program', () => {
  const features = Object.keys(weights).filter((feature) => feature !== 'none'); // no field: no reason for one
  for (const feature of features) {
    const { reason = '' } = describeFeature(feature) ?? {};
    expect(`${feature}: ${reason}`).toMatch(
      /: (?:its?|a|an|no|one|all|every|some|beside) [^=[\]]{5,110}$/,
    );
    expect(reason).not.toMatch(/undefined|null|…/);
  }
  expect(features.length).toBeGreaterThan(500);
});

it.each([
  ['last=id', 'its name ends with "id"'],
  ['class=time', 'its name ends with a word for: time'],
  ['head+class=other address, id', 'its name has words for: other address, id'],
  ['role+class=actor other time', 'its name ends with a word for: other time'],
  ['role=actor', 'its path names an actor first'],
  ['kind=UUID', 'its values look like: UUID'],
  ['role+kind=- user agent', 'its values look like: user agent'],
  ['spread=unique', 'no two records have the same value'],
  ['beside=name', 'beside it is a field for: name'],
  ['class=-', 'its name ends with a word for: something unknown'],
])('%s says that %s', (feature, reason) => {
  expect(describeFeature(feature)?.reason).toBe(reason);
});

it('a feature without words is no reason', () => {
  for (const feature of ['', 'other=x', 'spread=other'])
    expect(describeFeature(feature)).toBeUndefined();
});

it('a field that is read has its confidence, rounded down, and three different reasons', () => {
  const actor = (id: number) => ({ id: `b1f0c2d4-1f2e-4a3b-9c4d-00000000000${id}`, type: 'user' });
  const records = [1, 2].map((id) => ({ id, time: `2026-11-20T00:00:0${id}Z`, actor: actor(id) }));
  const { groundsOf } = weighRecords(records);
  const { confidence = 0, because = [] } = groundsOf('actor.identifier', '/actor/id') ?? {};
  expect(confidence).toBeGreaterThan(0.9);
  expect(confidence).toBeLessThan(1);
  expect(String(confidence)).toMatch(/^0\.\d\d?$/);
  expect(because).toHaveLength(3);
  expect(because).toContain('its path names an actor first');
  expect(because.filter((reason) => reason.startsWith('its name'))).toHaveLength(1);
});

it('an entry that is not inferred, and a field that no record has, have no reasons', () => {
  const { groundsOf } = weighRecords([{ id: 1 }]);
  expect(groundsOf('sessionId', '/id')).toBeUndefined();
  expect(groundsOf('id', '/other')).toBeUndefined();
});

it('a field that is not certain enough is a candidate of its entry and of its party, unless another entry reads it', () => {
  const records = ['ann', 'ben'].map((owner, id) => ({ id, verb: 'key.delete', owner }));
  const { possibleFor } = weighRecords(records);
  const [best] = possibleFor('actor.name');
  expect(best).toEqual({ at: '/owner', confidence: expect.any(Number) });
  expect(possibleFor('actor')[0]).toEqual(best);
  expect(possibleFor('act')).toEqual([]);
  const pointers = ['id', 'actor', 'target', 'outcome'].flatMap(possibleFor).map(({ at }) => at);
  expect(pointers).not.toContain('/verb');
});

it.each([
  [
    ...['occurredAt', '/when', 'another time shows that its values are in UTC'],
    { when: '2026-11-20 16:07:30', updated_at: '2026-11-20T16:07:30Z' },
  ],
  [
    ...['outcome', '/status_code', 'its name and its values are those of an HTTP status'],
    { status_code: 200 },
  ],
  [
    ...['actor.name', '/user_id', 'it is the e-mail address that identifies the party'],
    { user_id: 'ann@example.com' },
  ],
] as const)('the %s that a rule reads has its reason', (entry, pointer, reason, record) => {
  expect(weighRecords([record]).groundsOf(entry, pointer)).toEqual({ because: [reason] });
});
