import { z } from 'zod';
import { compileTimePattern } from '../../util/time-pattern.ts';
import { isTimeZone } from '../../util/time-zone.ts';
import {
  DELETION_RESULTS,
  type EntryTypes,
  ERROR_CODES,
  LIST_ORDERS,
  PAGING_STYLES,
} from '../mapping/contract.ts';
import { POINTER } from '../mapping/json-pointer.ts';
import { wordsOfPointer } from '../mapping/member-names.ts';
import { INSTANT_FORMATS } from '../mapping/time.ts';
import { isFailureFlag } from '../mapping/values.ts';

/** A JSON pointer. */
const pointer = z
  .string('must be an RFC 6901 pointer such as "/data/0/id"')
  .regex(POINTER, 'must be an RFC 6901 pointer: empty, or starting with "/"')
  .meta({ id: 'pointer' });
const POINTERS = [pointer, z.array(pointer).min(1), z.null()] as const;
/** Pointers of a field, the first that leads to a value wins; or null. */
const pointers = z
  .union(POINTERS, 'must be an RFC 6901 pointer such as "/data/id", a list of them, or null')
  .meta({ id: 'pointers' }); // written once in the JSON Schema
const header = z.strictObject({
  header: z
    .string('must be the name of a header')
    .regex(/^[\w!#$%&'*+.^`|~-]+(?:\/(?:[^~/]|~[01])*)*$/, 'must be the name of a header')
    .describe(
      'The name of a response header, or with a pointer a part of its JSON: x-pagination/total.',
    ),
});
/** Pointers of a field, or a header; or null. */
const source = z
  .union(
    [...POINTERS, header],
    'must be an RFC 6901 pointer, a list of them, {"header": "name"} or null',
  )
  .meta({ id: 'source' });

/** A record of zod drops this key without an issue. */
const withoutProto = z
  .unknown()
  .refine((map) => !Object.hasOwn(Object(map), '__proto__'), 'must not have the key __proto__');

const SEPARATOR = 'must be a text such as ":"';
/** The separator of a text that holds two facts, and which of them is read. */
const part = {
  split: z.string(SEPARATOR).min(1, SEPARATOR).describe('Separates two facts in one text.'),
  part: z
    .literal([1, 2])
    .describe('1: the text before the first separator. 2: that after it, or all.'),
};
const at = pointers.describe('Where the value is.');
/** Pointers of a text, or of one of two facts in it. */
const text = z
  .union(
    [...POINTERS, z.strictObject({ at, ...part })],
    'must be an RFC 6901 pointer, a list of them, {"at": pointer, "split": ":", "part": 2} or null',
  )
  .meta({ id: 'text' });

/** A text for each value. */
const mapTo = <Text extends z.ZodType<string>>(text: Text, example: string) =>
  withoutProto
    .pipe(z.record(z.string(), text, `must be an object such as ${example}`))
    .refine((map) => Object.keys(map).length > 0, `must have an entry, such as ${example}`)
    .meta({ minProperties: 1 });

/** Pointers, or pointers and a text for each value or for a part of it. */
const mapped = <Text extends z.ZodType<string>>(
  text: Text,
  otherwise: z.ZodType<'keep' | undefined>,
  example: string,
) =>
  z.union(
    [
      ...POINTERS,
      z
        .strictObject({
          ...{ at, split: part.split.optional(), part: part.part.optional() },
          map: mapTo(text, example)
            .describe(
              'A text for each value; the keys for true, 0 and 403 are "true", "0" and "403". Any other value gives null.',
            )
            .optional(),
          else: otherwise,
        })
        .superRefine((entry, context) => {
          const require = (name: 'map' | 'split' | 'part', reason = '') => {
            if (entry[name] !== undefined) return;
            context.addIssue({ code: 'custom', path: [name], message: `must be set${reason}` });
          };
          if (entry.part !== undefined) require('split', ', because part is');
          else if (entry.split !== undefined) require('part', ', because split is');
          else require('map', `, such as ${example}; or split and part`);
          if (entry.else !== undefined && entry.split !== undefined)
            require('map', ', because else is');
        })
        .meta({
          anyOf: [{ required: ['map'] }, { required: ['split'] }],
          dependencies: { split: ['part'], part: ['split'], else: ['map'] },
        }),
    ],
    `must be an RFC 6901 pointer, a list of them, {"at": pointer, "map": ${example}} or null`,
  );
/** Pointers of a text, or of a part of it, or with a map a text for each value. */
const mappedText = mapped(
  z.string('must be a text'),
  z
    .literal('keep', 'must be "keep"')
    .describe('"keep": a value that is not in the map stays as it is.')
    .optional(),
  '{"D": "key.delete"}',
).meta({ id: 'mappedText' });
/** Whether a party is an API key: true, a list of types that are, or null. */
const apiKey = z.union(
  [z.literal(true), z.array(z.string().min(1)).min(1), z.null()],
  'must be true, a list of types such as ["api_key"], or null',
);
/** Pointers of an outcome, or with a map an outcome for each value. A flag that is true for a failure needs a map. */
const outcome = mapped(
  z.enum(['SUCCESS', 'FAILURE']),
  z
    .never('is only for texts: list each value in the map, as SUCCESS or FAILURE')
    .describe('Only for texts, not for an outcome.')
    .optional(),
  '{"A": "SUCCESS", "D": "FAILURE"}',
).superRefine((entry, context) => {
  const isList = Array.isArray(entry);
  for (const [index, pointer] of [entry].flat().entries()) {
    if (typeof pointer !== 'string' || !isFailureFlag(pointer)) continue;
    const message =
      'has the name of a flag that is true if the action failed. Say so with a map: {"at": pointer, "map": {"false": "SUCCESS", "true": "FAILURE"}}';
    context.addIssue({ code: 'custom', message, path: isList ? [index] : [] });
  }
});

const AT_OF_ERRORS =
  'must be an RFC 6901 pointer such as "/fault/no", a list of them or {"header": "name"}';
const DELETION_MAP = '{"gone": "DELETED", "kept": "FAILED"}';
/** Pointers of what tells whether a key was deleted, with what each value means. */
const deletion = z
  .strictObject(
    {
      ...{ at, split: part.split.optional(), part: part.part.optional() },
      map: mapTo(z.enum(DELETION_RESULTS), DELETION_MAP).describe(
        'What each value means: DELETED, ACCEPTED, NOT_FOUND or FAILED. The key of a list or an object is the number of its items, that of null and of what is missing "null". Any other value is an error.',
      ),
    },
    `must be {"at": pointer, "map": ${DELETION_MAP}} or null`,
  )
  .superRefine((entry, context) => {
    const isMissing = (name: 'split' | 'part') => entry[name] === undefined;
    if (isMissing('split') === isMissing('part')) return;
    const path = isMissing('split') ? 'split' : 'part';
    const message = 'split and part must be set together';
    context.addIssue({ code: 'custom', path: [path], message });
  })
  .meta({ dependencies: { split: ['part'], part: ['split'] } });

const ERRORS_MAP = '{"0": null, "12": "UNAUTHENTICATED"}';
const errorCode = z.enum(ERROR_CODES).nullable();
/** What tells whether a request succeeded, with what each value means. */
const errors = z.strictObject(
  {
    at: z
      .union([pointer, z.array(pointer).min(1), header], AT_OF_ERRORS)
      .describe('Where the value is.'),
    map: withoutProto
      .pipe(z.record(z.string(), errorCode, `must be an object such as ${ERRORS_MAP}`))
      .refine((map) => Object.keys(map).length > 0, `must have an entry, such as ${ERRORS_MAP}`)
      .meta({ minProperties: 1 })
      .describe(
        'What each value means: the code of a failure, or null if it is none. The key of a list or an object is the number of its items.',
      ),
    else: errorCode.optional().describe('What any other value means.'),
  },
  `must be {"at": pointer, "map": ${ERRORS_MAP}}`,
);

const timeFormats = INSTANT_FORMATS.join(', ');
const pattern = z
  .strictObject({
    pattern: z
      .string('must be a text such as "dd.MM.yyyy HH:mm:ss"')
      .refine(
        (text) => compileTimePattern(text) !== null,
        'must have a year (yyyy or yy), a month (MM, M, MMM or MMMM), a day (dd or d) and, unless it is a date alone, an hour (HH or H, or hh or h with a) and a minute (mm or m); it may have seconds (ss or s), a fraction (SSS), a weekday (EEE or EEEE) and a zone (XXX, XX, X or Z), each once. Put any other letter into single quotes, and something between numbers of one or two digits',
      )
      .describe(
        'Letters of Unicode TR35, such as "dd.MM.yyyy HH:mm:ss". Two letters need two digits, one letter has no leading zero. Other letters are in single quotes.',
      ),
  })
  .meta({ id: 'pattern' });
/** The format of a time, and the zone of times without one. */
const notation = <const Formats extends readonly [string, ...string[]]>(formats: Formats) => ({
  as: z
    .union(
      [z.enum(formats), pattern],
      `must be one of ${formats.join(', ')}, or {"pattern": "dd.MM.yyyy HH:mm:ss"}`,
    )
    .describe('How the value is written.'),
  zone: z
    .string('must be a time zone')
    .refine(
      isTimeZone,
      'must be a time zone: "UTC", a name such as "Europe/Berlin", or an offset such as "+09:00"',
    )
    .describe(
      'The zone of times that have none: "UTC", a name such as "Europe/Berlin", or an offset such as "+09:00".',
    )
    .optional(),
});
/** Pointers of a time, or with its format, its zone and what joins its parts. */
const occurredAt = z.union(
  [
    ...POINTERS,
    z
      .strictObject({
        at: pointers.describe('Where the time is.'),
        ...notation(INSTANT_FORMATS),
        join: z
          .string('must be a text')
          .describe(
            'Joins the values of all pointers with this text, such as a date and a time of day with "T".',
          )
          .optional(),
      })
      .superRefine((entry, context) => {
        checkZone(entry, context);
        if (entry.join !== undefined && !Array.isArray(entry.at)) {
          context.addIssue({
            code: 'custom',
            path: ['join'],
            message: 'needs a list of pointers in `at`',
          });
        }
      }),
  ],
  `must be an RFC 6901 pointer, a list of them, {"at": pointer, "as": format} or null; a format is one of ${timeFormats}, or {"pattern": "dd.MM.yyyy HH:mm:ss"}`,
);
/** Where the expiry is, with its format. */
const expires = z
  .strictObject({
    at: source.describe('Where the expiry is.'),
    ...notation(['seconds', 'milliseconds', 'jwt', ...INSTANT_FORMATS]),
  })
  .superRefine(checkZone);

/** A pattern without a zone needs one. The other formats but ISO 8601 have their own. */
function checkZone(
  {
    as,
    zone,
  }: { readonly as: string | { readonly pattern: string }; readonly zone?: string | undefined },
  context: z.RefinementCtx,
): void {
  const addIssue = (message: string) =>
    context.addIssue({ code: 'custom', path: ['zone'], message });
  if (typeof as === 'string') {
    if (zone !== undefined && as !== 'iso8601')
      addIssue('is only for iso8601 and patterns: the other formats have no zone, or their own');
  } else if (zone === undefined && compileTimePattern(as.pattern)?.hasZone === false)
    addIssue('must be set, such as "UTC", because the pattern has no zone');
}

/** Names of flags that are true on the last page: the opposite of `more`. */
const LAST_PAGE_FLAG = /\b(?:last|final|done|complete|completed|no more)(?: page)?$/;

/** Pointers of a flag that is true if there are more pages. */
const moreFlag = pointers.superRefine((entry, context) => {
  const isInverted = [entry]
    .flat()
    .some((pointer) => LAST_PAGE_FLAG.test(wordsOfPointer(pointer ?? '')));
  if (isInverted) {
    const message =
      'has the name of a flag that is true on the last page. Omit the entry: such flags are inferred';
    context.addIssue({ code: 'custom', message });
  }
});

/** The name of a query parameter. */
const parameter = z.string().min(1).nullable();

/** What an entry of each kind may be in a file. */
export const ENTRY_SCHEMAS: { readonly [Kind in keyof EntryTypes]: z.ZodType<EntryTypes[Kind]> } = {
  ...{ pointers, text, mappedText, time: occurredAt, outcome, apiKey },
  ...{ source, accessToken: source, flag: moreFlag, number: pointers, expires: expires.nullable() },
  records: pointer
    .refine(
      (text) => text.split('/').filter((token) => token === '*').length <= 1,
      'may have one token `*`',
    )
    .nullable(),
  identity: pointers,
  order: z.enum(LIST_ORDERS).nullable(),
  deletion: deletion.nullable(),
  errors,
  style: z.enum(PAGING_STYLES),
  start: z.int().nonnegative(),
  parameter,
  follow: z.literal('query').nullable(),
  switch: z.boolean().nullable(),
  schema: z.string('must be the path or the URL of a JSON Schema'),
};
