import { z } from 'zod';
import { type ConfiguredContract, LIST_ORDERS, PAGING_STYLES } from '../mapping/contract.ts';
import { findClosestName } from '../util/closest-name.ts';
import { findJsonError } from '../util/json-error.ts';
import {
  apiKey,
  expires,
  mappedText,
  moreFlag,
  occurredAt,
  outcome,
  pointer,
  pointers,
  source,
  text,
} from './contract-entries.ts';

/** An object in which every key is optional and no other is allowed. */
const section = <Shape extends z.ZodRawShape>(shape: Shape) => z.strictObject(shape).partial();

/** The style `last-value` needs a value, which no other style has. */
function checkLastValue(
  { style, last, inclusive }: NonNullable<NonNullable<ConfiguredContract['audit']>['paging']>,
  context: z.RefinementCtx,
): void {
  const addIssue = (name: string, message: string) =>
    context.addIssue({ code: 'custom', path: [name], message });
  if (style === 'last-value') {
    if (last == null) addIssue('last', 'must be set, because the style is last-value');
    return;
  }
  if (last != null) addIssue('last', 'is only for the style last-value');
  if (inclusive != null) addIssue('inclusive', 'is only for the style last-value');
}

/** The name of a query parameter. */
const parameter = z.string().min(1).nullable();
const party = section({ identifier: text, name: text, type: mappedText, apiKey });

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
    more: moreFlag,
    position: pointers,
    pages: pointers,
    start: z.int().nonnegative(),
    parameter,
    size: parameter,
    follow: z.literal('query').nullable(),
    last: pointers,
    inclusive: z.boolean().nullable(),
  }).superRefine(checkLastValue),
};

/** The schema of a contract file. */
export const contractSchema: z.ZodType<ConfiguredContract> = section({
  $schema: z.string('must be the path or the URL of a JSON Schema'),
  login: section({
    accessToken: source,
    refreshToken: source,
    tokenType: source,
    expires: expires.nullable(),
  }),
  audit: section({
    ...list,
    order: z.enum(LIST_ORDERS).nullable(),
    identity: pointers,
    parameters: section({
      since: parameter,
      until: parameter,
      actor: parameter,
      action: parameter,
    }),
    event: section({
      id: pointers,
      occurredAt,
      action: mappedText,
      outcome,
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
    const { line, column, mistake } = findJsonError(text) ?? { line: 1, column: 1, mistake: null };
    const place = `the file is not valid JSON: see line ${line}, column ${column}.`;
    return { problems: [mistake === null ? place : `${place} ${MISTAKES[mistake]}`] };
  }
  return checkContract(json);
}

const MISTAKES = {
  comma: 'Remove the comma before it.',
  comment: 'JSON has no comments: remove it.',
} as const;

/** Checks a contract that is already parsed. */
export function checkContract(value: unknown): ParsedContract {
  const { data, error } = contractSchema.safeParse(value);
  if (data !== undefined) return { contract: data };
  return { problems: (error?.issues ?? []).flatMap((issue) => describe(issue)) };
}

function describe(issue: z.core.$ZodIssue, parent: readonly PropertyKey[] = []): readonly string[] {
  const names = [...parent, ...issue.path];
  const path = names.map((name) => `/${String(name)}`).join('');
  const closest = issue.code === 'invalid_union' ? closestOf(issue.errors) : [];
  if (closest.length > 0) return closest.flatMap((inner) => describe(inner, names));
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map(
      (key) => `${path}/${key} is not an entry of a contract.${hintAt(names, key)}`,
    );
  const entry = path || 'the top level';
  if (issue.code === 'invalid_value')
    return [`${entry} must be one of ${issue.values.join(', ')}.`];
  return [`${entry}: ${issue.message}.`];
}

/** The entry that was most likely meant: the nearest name in the same part, else the same name in another. */
function hintAt(names: readonly PropertyKey[], key: string): string {
  const own = names.reduce<readonly unknown[]>(
    (schemas, name) => schemas.flatMap((schema) => membersOf(schema).get(String(name)) ?? []),
    [contractSchema],
  );
  const meant =
    findClosestName(
      key,
      own.flatMap((schema) => [...membersOf(schema).keys()]),
    ) ?? listEntries(contractSchema).find((path) => path.endsWith(`/${key}`));
  return meant === undefined ? '' : ` Did you mean ${meant}?`;
}

/** The members of an object in a schema, or of those among which a union chooses. */
function membersOf(schema: unknown): ReadonlyMap<string, unknown> {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return membersOf(schema.unwrap());
  if (schema instanceof z.ZodUnion)
    return new Map(schema.options.flatMap((option) => [...membersOf(option)]));
  return new Map(schema instanceof z.ZodObject ? Object.entries(schema.shape) : []);
}

/** Pointers of all entries in a schema, those of a part before those within it. */
function listEntries(schema: unknown): readonly string[] {
  const members = [...membersOf(schema)];
  const nested = members.flatMap(([name, member]) =>
    listEntries(member).map((path) => `/${name}${path}`),
  );
  return [...members.map(([name]) => `/${name}`), ...nested];
}

type Issues = readonly z.core.$ZodIssue[];

/** The issues of the alternative that a value is meant to be: the one of which a member is wrong, not the whole. */
function closestOf(alternatives: readonly Issues[]): Issues {
  return alternatives.find((issues) => issues.some(isOfMember)) ?? [];
}

function isOfMember(issue: z.core.$ZodIssue): boolean {
  if (issue.path.length > 0 || issue.code === 'unrecognized_keys') return true;
  return issue.code === 'invalid_union' && issue.errors.flat().some(isOfMember);
}
