import { readPath } from './field-path.ts';
import type { RecordField } from './record-fields.ts';

/** Lists what speaks for or against each meaning of a field: its words, the kind of its values, its place among others. */
export function listFeatures(fields: readonly RecordField[]): readonly (readonly string[])[] {
  const paths = fields.map(({ path }) => readPath(path));
  const parents = fields.map(({ pointer }) => pointer.slice(0, pointer.lastIndexOf('/')));
  const names = new Set(
    paths.flatMap(({ lastClasses, head }, index) =>
      lastClasses.map((one) => `${parents[index]} ${head} ${one}`),
    ),
  );
  return fields.map((field, index) => {
    const { features, keys, lastClasses, head, role } = readPath(field.path);
    const parent = parents[index] ?? '';
    const stem = `${parent} ${keys.at(-1)}`;
    const parts = PART_CLASSES.filter((one) => names.has(`${stem} ${one}`));
    const siblings = PART_CLASSES.filter(
      (one) => !lastClasses.includes(one) && names.has(`${parent} ${head} ${one}`),
    );
    const kind = field.kinds.size > 1 && field.kind !== 'time' ? 'mixed' : field.kind;
    return [
      ...features,
      `kind=${kind}`,
      `role+kind=${role} ${kind}`,
      `spread=${field.spread}`,
      `records=${field.isInAll ? 'all' : 'some'}`,
      ...siblings.map((one) => `beside=${one}`),
      ...parts.flatMap((one) => [`stem=${one}`, `stem+kind=${one} ${kind}`]),
      ...(field.isOutcome ? ['outcome'] : []),
    ];
  });
}

/** Parts of a party. */
const PART_CLASSES = ['id', 'name', 'type', 'email'] as const;
