import { readFileSync, writeFileSync } from 'node:fs';

/** Where the files of a version are. */
export type Source = {
  /** Owner and name. */
  readonly repository: string;
  readonly tag: string;
};

/**
 * Makes links from a page to files of its repository absolute: npm shows the page, and has no other file. Links to
 * headings of the page stay, and so do code blocks.
 * @param path Of the page, in the repository.
 */
export function toAbsoluteLinks(page: string, path: string, { repository, tag }: Source): string {
  const address = `https://github.com/${repository}`;
  const toAbsolute = (target: string) => {
    const kind = IMAGE.test(target) ? 'raw' : 'blob';
    return new URL(target, `${address}/${kind}/${tag}/${path}`).href;
  };
  return page
    .split(CODE_BLOCK)
    .map((part, index) => (index % 2 === 1 ? part : part.replace(RELATIVE_TARGET, toAbsolute)))
    .join('');
}

const CODE_BLOCK = /(^```.*?^```$)/ms;

const RELATIVE_TARGET = /(?<=\]\()(?![a-z]+:|#)[^)\s]+/g;

const IMAGE = /\.(?:png|svg)$/;

// node absolute-links.ts PAGE…, with the repository and the tag in the variables of GitHub Actions
if (import.meta.main) {
  const { GITHUB_REPOSITORY: repository = '', GITHUB_REF_NAME: tag = '' } = process.env;
  for (const path of process.argv.slice(2))
    writeFileSync(path, toAbsoluteLinks(readFileSync(path, 'utf8'), path, { repository, tag }));
}
