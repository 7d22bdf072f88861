import { z } from 'zod';
import { type ConfiguredContract, PAGING_STYLES } from '../mapping/contract.ts';
import { isPointer } from '../mapping/json-pointer.ts';
import { INSTANT_FORMATS } from '../mapping/time.ts';

const pointer = z
  .string({ error: 'must be an RFC 6901 pointer such as "/data/0/id"' })
  .refine(isPointer, { error: 'must be an RFC 6901 pointer: empty, or starting with "/"' });
const pointers = z.union([pointer, z.array(pointer).min(1), z.null()], {
  error: 'must be an RFC 6901 pointer such as "/data/id", a list of them, or null',
});
const header = z.strictObject({ header: z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/) });
const source = z.union([pointer, z.array(pointer).min(1), z.null(), header], {
  error: 'must be an RFC 6901 pointer, a list of them, {"header": "name"} or null',
});
/** The name of a query parameter. */
const parameter = z.string().min(1).nullable().optional();
const party = z
  .strictObject({
    identifier: pointers.optional(),
    name: pointers.optional(),
    type: pointers.optional(),
  })
  .optional();

const schema: z.ZodType<ConfiguredContract> = z.strictObject({
  login: z
    .strictObject({
      accessToken: source.optional(),
      refreshToken: source.optional(),
      tokenType: source.optional(),
      expires: z
        .strictObject({
          at: source,
          as: z.enum(['seconds', 'milliseconds', 'jwt', ...INSTANT_FORMATS]),
        })
        .nullable()
        .optional(),
    })
    .optional(),
  audit: z
    .strictObject({
      records: pointer.nullable().optional(),
      total: source.optional(),
      paging: z
        .strictObject({
          style: z.enum(PAGING_STYLES).optional(),
          next: source.optional(),
          more: pointers.optional(),
          position: pointers.optional(),
          pages: pointers.optional(),
          start: z.int().nonnegative().optional(),
          parameter,
          size: parameter,
        })
        .optional(),
      parameters: z
        .strictObject({ since: parameter, until: parameter, actor: parameter, action: parameter })
        .optional(),
      event: z
        .strictObject({
          id: pointers.optional(),
          occurredAt: z
            .union([pointers, z.strictObject({ at: pointers, as: z.enum(INSTANT_FORMATS) })], {
              error: `must be an RFC 6901 pointer, a list of them, {"at": pointer, "as": format} or null; a format is one of ${INSTANT_FORMATS.join(', ')}`,
            })
            .optional(),
          action: pointers.optional(),
          outcome: pointers.optional(),
          actor: party,
          target: party,
          ipAddress: pointers.optional(),
          userAgent: pointers.optional(),
        })
        .optional(),
    })
    .optional(),
});

/** A valid contract, or one sentence per problem. None repeats a value. */
export type ParsedContract =
  | { readonly contract: ConfiguredContract }
  | { readonly problems: readonly string[] };

/** Parses the text of a contract file: JSON in which every key is optional. */
export function parseContract(text: string): ParsedContract {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { problems: ['the file is not valid JSON.'] };
  }
  return checkContract(json);
}

/** Checks a contract that is already parsed. */
export function checkContract(value: unknown): ParsedContract {
  const { data, error } = schema.safeParse(value);
  if (data !== undefined) return { contract: data };
  return { problems: (error?.issues ?? []).flatMap(describe) };
}

function describe(issue: z.core.$ZodIssue): readonly string[] {
  const pointerTo = (path: readonly PropertyKey[]) =>
    path.map((name) => `/${String(name)}`).join('') || 'the top level';
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map(
      (key) => `${pointerTo([...issue.path, key])} is not an entry of a contract.`,
    );
  }
  if (issue.code === 'invalid_value') {
    return [`${pointerTo(issue.path)} must be one of ${issue.values.join(', ')}.`];
  }
  return [`${pointerTo(issue.path)}: ${issue.message}.`];
}
