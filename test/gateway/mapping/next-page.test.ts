import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { completeAudit } from '../../../src/gateway/inference/complete-contract.ts';
import { readAuditPage } from '../../../src/gateway/mapping/event.ts';

function nextOf(link: string | readonly string[]): unknown {
  const answer = { status: 200, headers: { link }, body: [{ id: 1 }] };
  return readAuditPage(completeAudit(answer), answer).next();
}

describe('a Link header (RFC 8288)', () => {
  it.each([
    ['</a?b=1>; rel="next"', '/a?b=1'],
    ['</a>;rel=next', '/a'],
    ['<a,b>; title="x, <y>; rel=next"; rel="prev", <c>; REL="last NEXT"', 'c'],
    [['<p>; rel="prev"', '<n>; rel="next"'], 'n'],
    ['<n>; title*=UTF-8\'\'a; rel="next"; type="a/b"', 'n'],
  ])('%j contains the next link %s', (header, link) => {
    expect(nextOf(header)).toEqual({ link });
  });

  it.each([
    '',
    'next',
    '<a>',
    '<a>; rel="prev"',
    '<a>; rel="nextish"',
    '<a>; title="rel=next"',
    '<a; rel=next',
  ])('%j contains no next link', (header) => {
    expect(nextOf(header)).toBeNull();
  });

  it('with the relation next is found among any others', () => {
    const target = fc.webUrl({ withQueryParameters: true });
    const title = fc.string().map((text) => text.replace(/["\\]/g, ''));
    fc.assert(
      fc.property(target, target, title, (one, two, text) => {
        expect(
          nextOf(`<${one}>; rel="prev"; title="${text}", <${two}>; title="${text}"; rel="next"`),
        ).toEqual({ link: two });
      }),
    );
  });

  it('of any text does not throw', () => {
    fc.assert(fc.property(fc.string(), (text) => void nextOf(text)));
  });
});
