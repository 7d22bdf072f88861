import type { RecordField } from '../../gateway/inference/record-fields.ts';

/** An entry that reads a field, and others that it needs, such as that of the time of day. */
export type SuggestedEntry = {
  readonly entry: object | string;
  readonly fields: readonly RecordField[];
};
