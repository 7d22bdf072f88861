import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** Right and wrong values of the usual samples. */
export type Count = { readonly right: number; readonly wrong: number; readonly of: number };

/** A hand-written rule: a function or a pattern, which is replaced by one that decides nothing. */
type Rule = {
  /** What it says, in short. */
  readonly rule: string;
  /** In `src/gateway/inference/`. */
  readonly file: string;
  /** The name of the function, or of the constant with a pattern. */
  readonly name: string;
  /** The expression of a function that decides nothing. Default: false. A pattern then matches nothing. */
  readonly without?: string;
};

/** Every hand-written rule of the choice of fields. */
export const RULES: readonly Rule[] = [
  { rule: 'other times', file: 'candidates.ts', name: 'OTHER_TIMES' },
  { rule: 'the address of a thing', file: 'candidates.ts', name: 'isOfThing' },
  { rule: 'the type of a thing is no action', file: 'candidates.ts', name: 'isTypeOfThing' },
  { rule: 'credentials and products are no party', file: 'candidates.ts', name: 'NO_PARTY' },
  { rule: 'second parties', file: 'candidates.ts', name: 'SECOND_PARTY' },
  { rule: 'what a request contains', file: 'candidates.ts', name: 'IN_REQUEST' },
  { rule: 'an ID is not shared', file: 'candidates.ts', name: 'isShared' },
  { rule: 'an HTTP status as the outcome', file: 'candidates.ts', name: 'isHttpStatus' },
  { rule: 'own fields rule out others', file: 'candidates.ts', name: 'rankOf', without: 'null' },
  { rule: 'what a party has', file: 'field-path.ts', name: 'isRelated' },
  { rule: 'an object of the record', file: 'field-path.ts', name: 'isInObject' },
  { rule: 'states before and after', file: 'record-fields.ts', name: 'EXCLUDED' },
  { rule: 'times in UTC by name', file: 'record-fields.ts', name: 'UTC' },
  {
    rule: 'fields with the same values',
    file: 'record-fields.ts',
    name: 'findSame',
    without: 'args[0].length',
  },
  {
    rule: 'names of one thing',
    file: 'choose-entry.ts',
    name: 'isAlike',
    without: 'args[1] === args[2]',
  },
  { rule: 'names of one party', file: 'choose-entry.ts', name: 'isSameName' },
  { rule: 'a name before an e-mail address', file: 'choose-entry.ts', name: 'isDisplayName' },
  {
    rule: 'names of the party with the ID',
    file: 'choose.ts',
    name: 'nameOf',
    without: 'args[1][args[0] + ".name"]',
  },
  {
    rule: 'the type of a target beside its ID',
    file: 'choose.ts',
    name: 'chooseTarget',
    without: '{}',
  },
  {
    rule: 'a local time that another one shows to be UTC',
    file: 'event.ts',
    name: 'inferLocalTime',
    without: 'null',
  },
];

const FOLDER = new URL('../../src/gateway/inference/', import.meta.url);

/** Returns the text of a file without a rule. @throws Error if it does not define the rule once. */
export function withoutRule(text: string, { name, without = 'false' }: Rule): string {
  const definition = new RegExp(`^(export )?(?:const ${name} =|function ${name}\\()`, 'gm');
  const found = [...text.matchAll(definition)];
  if (found.length !== 1) throw new Error(`${name} is defined ${found.length} times`);
  return text.replace(definition, (start, exported = '') => {
    const rest = start.slice(exported.length).replace(name, `${name}Before`);
    return start.includes('function')
      ? `${exported}function ${name}(...args: any[]): any { return ${without}; }\n${rest}`
      : `${exported}const ${name} = /(?!)/;\n${rest}`;
  });
}

/** Counts the usual values that are read in folds by vendor, after training without a rule. */
export async function countWithout(index: number | null): Promise<Count> {
  const file = fileURLToPath(import.meta.url);
  const { stdout } = await promisify(execFile)(process.execPath, [file, String(index)]);
  return JSON.parse(stdout);
}

/** In a process of its own: modules are loaded without the rule. */
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rule = RULES[Number(process.argv[2])];
  if (process.argv[2] !== 'null' && rule === undefined) throw new Error('no such rule');
  const url = rule && new URL(rule.file, FOLDER).href;
  registerHooks({
    load: (loaded, context, next) =>
      rule !== undefined && loaded === url
        ? {
            format: 'module-typescript',
            shortCircuit: true,
            source: withoutRule(readFileSync(new URL(loaded), 'utf8'), rule),
          }
        : next(loaded, context),
  });
  const { measureFolds } = await import('./evaluate.ts');
  process.stdout.write(JSON.stringify(measureFolds()));
}
