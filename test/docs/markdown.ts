/** A fenced code block of a page. */
export type Block = {
  /** Line of the opening fence, from 1. */
  readonly line: number;
  readonly language: string;
  /** The words after the language: `output`, `terminal=keytrail`, `file=app.ts`. A word without `=` is `''`. */
  readonly attributes: ReadonlyMap<string, string>;
  readonly text: string;
};

const FENCE = /^```([^\n]*)\n(.*?)^```$/gms;

/** The code blocks of a page in Markdown, in order. Blocks inside of lists are not indented in our pages. */
export function readBlocks(page: string): readonly Block[] {
  return [...page.matchAll(FENCE)].map(({ index, 1: info = '', 2: text = '' }) => {
    const [language = '', ...words] = info.split(' ');
    const attributes = words.map((word): [string, string] => {
      const [name = '', value = ''] = word.split('=');
      return [name, value];
    });
    const line = page.slice(0, index).split('\n').length;
    return { line, language, attributes: new Map(attributes), text };
  });
}

/** The anchors that GitHub gives to the headings of a page in Markdown. */
export function anchorsOf(page: string): readonly string[] {
  return [...page.replace(FENCE, '').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}
