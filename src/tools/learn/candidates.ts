import { type ClassifiedField, classifyField } from '../../inference/classify-paths.ts';
import { profileFields } from '../../inference/profile-fields.ts';
import type { ConfiguredContract } from '../../mapping/contract.ts';
import { parseTime } from '../../mapping/time.ts';
import { isSecret } from '../show-value.ts';

/** A field of the records that an entry may read. */
export type Candidate = ClassifiedField & {
  /** Its values as texts. */
  readonly texts: readonly string[];
  /** Whether every value is a text or a number. */
  readonly isScalar: boolean;
  readonly isSecret: boolean;
  /** Whether it is the first field of the records. */
  readonly isFirst: boolean;
};

/** A contract that may read a field that is null. */
export type Suggestion = {
  /** What to add to `audit.event`. */
  readonly contract: NonNullable<NonNullable<ConfiguredContract['audit']>['event']>;
  /** The fields that it reads. */
  readonly fields: readonly Candidate[];
  /** Texts of its field that it does not read. */
  readonly unmapped?: readonly string[];
};

/** Lists the fields of some records. */
export function listCandidates(records: readonly unknown[]): readonly Candidate[] {
  const fields = profileFields(records);
  return fields
    .filter(({ pointer }) => pointer !== '')
    .map((field) => ({
      ...classifyField(field),
      texts: field.values.map(String),
      isScalar: field.values.every((value) => typeof value !== 'boolean'),
      isSecret: field.values.some((value) => isSecret(field.pointer, value)),
      isFirst: field === fields[0],
    }));
}

/** The words of the last key of a path, such as `display name`. */
export function lastWords({ meaning: { words }, path }: Candidate): string {
  return path.includes('/') ? words.slice(-path.slice(path.lastIndexOf('/') + 1).length) : words;
}

/** Whether every text matches. */
export function areAll({ texts }: Candidate, pattern: RegExp): boolean {
  return texts.every((text) => pattern.test(text));
}

/** Whether a value is an instant, not a number that looks like one. */
export function isTimeText({ values }: Candidate): boolean {
  return values.every((value) => typeof value === 'string' && parseTime(value) !== null);
}
