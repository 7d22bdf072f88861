import { z } from 'zod';
import { type ConfiguredContract, PAGING_STYLES } from '../mapping/contract.ts';
import { isPointer } from '../mapping/json-pointer.ts';
import { INSTANT_FORMATS } from '../mapping/time.ts';

/** An object in which every key is optional and no other is allowed. */
const section = <Shape extends z.ZodRawShape>(shape: Shape) => z.strictObject(shape).partial();

const pointer = z
  .string('must be an RFC 6901 pointer such as "/data/0/id"')
  .refine(isPointer, 'must be an RFC 6901 pointer: empty, or starting with "/"');
const pointers = z.union(
  [pointer, z.array(pointer).min(1), z.null()],
  'must be an RFC 6901 pointer such as "/data/id", a list of them, or null',
);
const header = z.strictObject({ header: z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/) });
const source = z.union(
  [pointer, z.array(pointer).min(1), z.null(), header],
  'must be an RFC 6901 pointer, a list of them, {"header": "name"} or null',
);
const expiryFormat = z.enum(['seconds', 'milliseconds', 'jwt', ...INSTANT_FORMATS]);
const occurredAt = z.union(
  [pointers, z.strictObject({ at: pointers, as: z.enum(INSTANT_FORMATS) })],
  `must be an RFC 6901 pointer, a list of them, {"at": pointer, "as": format} or null; a format is one of ${INSTANT_FORMATS.join(', ')}`,
);
/** The name of a query parameter. */
const parameter = z.string().min(1).nullable();
const party = section({ identifier: pointers, name: pointers, type: pointers });

const list = {
  records: pointer
    .refine(
      (text) => text.split('/').filter((token) => token === '*').length <= 1,
      'may have one token `*`',
    )
    .nullable(),
  total: source,
  paging: section({
    style: z.enum(PAGING_STYLES),
    next: source,
    more: pointers,
    position: pointers,
    pages: pointers,
    start: z.int().nonnegative(),
    parameter,
    size: parameter,
    follow: z.literal('query').nullable(),
    last: pointers,
    inclusive: z.boolean().nullable(),
  }),
};

const schema: z.ZodType<ConfiguredContract> = section({
  login: section({
    accessToken: source,
    refreshToken: source,
    tokenType: source,
    expires: z.strictObject({ at: source, as: expiryFormat }).nullable(),
  }),
  audit: section({
    ...list,
    parameters: section({
      since: parameter,
      until: parameter,
      actor: parameter,
      action: parameter,
    }),
    event: section({
      id: pointers,
      occurredAt,
      action: pointers,
      outcome: pointers,
      actor: party,
      target: party,
      ipAddress: pointers,
      userAgent: pointers,
    }),
  }),
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
  const path = issue.path.map((name) => `/${String(name)}`).join('');
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => `${path}/${key} is not an entry of a contract.`);
  const entry = path || 'the top level';
  if (issue.code === 'invalid_value')
    return [`${entry} must be one of ${issue.values.join(', ')}.`];
  return [`${entry}: ${issue.message}.`];
}
