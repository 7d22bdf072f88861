import { z } from 'zod';
import { findClosestName } from '../../util/closest-name.ts';

/**
 * The member that was most likely meant by a name that a schema does not have at a path: the nearest name there, else the
 * path of the same name elsewhere. Undefined if there is none.
 */
export function findMeantMember(
  schema: unknown,
  path: readonly PropertyKey[],
  name: string,
): string | readonly string[] | undefined {
  const own = path.reduce<readonly unknown[]>(
    (schemas, key) => schemas.flatMap((each) => membersOf(each).get(String(key)) ?? []),
    [schema],
  );
  const names = own.flatMap((each) => [...membersOf(each).keys()]);
  return findClosestName(name, names) ?? listPaths(schema).find((each) => each.at(-1) === name);
}

/** The members of an object in a schema, or of those among which a union chooses. */
function membersOf(schema: unknown): ReadonlyMap<string, unknown> {
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault
  )
    return membersOf(schema.unwrap());
  if (schema instanceof z.ZodPipe) return membersOf(schema.out); // of z.preprocess
  if (schema instanceof z.ZodUnion)
    return new Map(schema.options.flatMap((option) => [...membersOf(option)]));
  return new Map(schema instanceof z.ZodObject ? Object.entries(schema.shape) : []);
}

/** The paths of all members in a schema, those of a part before those within it. */
function listPaths(schema: unknown): readonly (readonly string[])[] {
  const members = [...membersOf(schema)];
  const nested = members.flatMap(([name, member]) =>
    listPaths(member).map((path) => [name, ...path]),
  );
  return [...members.map(([name]) => [name]), ...nested];
}
