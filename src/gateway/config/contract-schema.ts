import { z } from 'zod';
import { findJsonError, type JsonError } from '../../util/json-error.ts';
import { CONTRACT, type ConfiguredContract, type EntryTable } from '../mapping/contract.ts';
import { ENTRY_SCHEMAS } from './contract-entries.ts';
import { findMeantMember } from './schema-members.ts';

/** The schema of a contract file. */
export const contractSchema = toSection(CONTRACT) as z.ZodType<ConfiguredContract>; // derived from the same table

/** An object in which every key is optional and no other is allowed. */
function toSection(table: Readonly<Record<string, EntryTable>>): z.ZodObject {
  const schemas = Object.entries(table).map(([name, entry]) => {
    if ('kind' in entry) return [name, ENTRY_SCHEMAS[entry.kind]];
    const section = toSection(entry.entries);
    return [
      name,
      entry === CONTRACT.audit.entries.paging ? section.superRefine(checkLastValue) : section,
    ];
  });
  return z.strictObject(Object.fromEntries(schemas)).partial();
}

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
    return { problems: [`the file is not valid JSON: ${describeError(findJsonError(text))}`] };
  }
  return checkContract(json);
}

function describeError(error: JsonError | null): string {
  if (error === null) return 'it is nested too deeply to say where.';
  const place = `see line ${error.line}, column ${error.column}.`;
  return error.mistake === null ? place : `${place} ${MISTAKES[error.mistake]}`;
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

/** The entry that was most likely meant, as a name in the same part, or a pointer from the top. */
function hintAt(names: readonly PropertyKey[], key: string): string {
  const meant = findMeantMember(contractSchema, names, key);
  if (meant === undefined) return '';
  return ` Did you mean ${typeof meant === 'string' ? meant : meant.map((name) => `/${name}`).join('')}?`;
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
