/** A link with its parameters, and one of these (RFC 8288, section 3). */
const PARAMETER = /;\s*([\w*!-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",;]+))/;
const LINK = new RegExp(`<([^>]*)>((?:\\s*${PARAMETER.source})*)`, 'g');

/** The first link whose relation types include `next`. */
export function readLinkHeader(header: string | readonly string[] | undefined): string | null {
  if (header === undefined) return null;
  for (const [, link = '', parameters = ''] of [header].flat().join(', ').matchAll(LINK)) {
    for (const [, name, quoted, token = ''] of parameters.matchAll(new RegExp(PARAMETER, 'g'))) {
      const relations = (quoted ?? token).toLowerCase().split(/\s+/);
      if (name?.toLowerCase() === 'rel' && relations.includes('next')) return link;
    }
  }
  return null;
}
