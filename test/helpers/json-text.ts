import fc from 'fast-check';

const blank = fc.constantFrom('', '', '', ' ', '\n\t', ' \r\n ');

const escaped = (text: string) =>
  [...Array(text.length).keys()]
    .map((index) => `\\u${text.charCodeAt(index).toString(16).padStart(4, '0')}`)
    .join('');

const string = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 6 }),
    fc.constantFrom('"', '\\', '\\"', '\\\\', '[{', '}]', '],"x":[', '日本', '🔑', 'é'),
  )
  .chain((text) => fc.constantFrom(JSON.stringify(text), `"${escaped(text)}"`));

/** V8 misreads other escaped names after one that begins with a backslash: https://github.com/nodejs/node/issues/63785. */
const name = string.filter((text) => !/^"\\(?:\\|u005c)/.test(text));

const plain = fc.oneof(
  string,
  fc.constantFrom('null', 'true', 'false', '{}', '[]', '[[]]', '0', '-1.5e-7', '1E+2'),
  fc.constantFrom('9007199254740993', '1e400', '12345678901234567890', '0.1234567890123456789'),
);

const join = (brackets: string, parts: readonly string[], space: string) =>
  `${brackets[0]}${space}${parts.join(`${space},${space}`)}${space}${brackets[1]}`;

const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    plain,
    fc
      .tuple(fc.array(tie('value'), { maxLength: 3 }), blank)
      .map(([items, space]) => join('[]', items, space)),
    fc
      .tuple(fc.array(fc.tuple(name, tie('value')), { maxLength: 3 }), blank)
      .map(([members, space]) =>
        join(
          '{}',
          members.map(([key, member]) => `${key}${space}:${member}`),
          space,
        ),
      ),
  ),
}));

/** Any JSON text: any escapes, whitespace and numbers, and brackets inside strings. */
export const jsonText: fc.Arbitrary<string> = value;

/** The text of an object with these members and any others. */
export function objectText(members: fc.Arbitrary<readonly string[]>): fc.Arbitrary<string> {
  const others = fc
    .array(fc.tuple(name, value), { maxLength: 3 })
    .map((all) => all.map(([key, member]) => `${key}:${member}`));
  return fc
    .tuple(members, others, blank)
    .map(([own, other, space]) => join('{}', [...own, ...other], space));
}

/** The text of an array with these items. */
export function listText(items: readonly string[], space = ''): string {
  return join('[]', items, space);
}
