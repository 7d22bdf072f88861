import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/errors.ts';
import {
  followLink,
  path,
  showPath,
  toCurl,
  withPage,
  withQuery,
} from '../../../src/gateway/upstream/path.ts';

const anyText = fc.string({ unit: 'binary', maxLength: 300 });

describe('a path', () => {
  it('encodes any value as exactly one segment that decodes to it, or rejects it', () => {
    fc.assert(
      fc.property(anyText, (value) => {
        let encoded: string;
        try {
          encoded = path`/api/v1/secrets/${{ client_id: value }}`.value;
        } catch (error) {
          expect(error).toBeInstanceOf(GatewayError);
          return;
        }
        const { pathname, search, hash } = new URL(`http://h${encoded}`);
        expect(pathname).toBe(encoded); // no dot segment was removed
        expect(search + hash).toBe('');
        const segments = pathname.split('/');
        expect(segments).toHaveLength(5);
        expect(decodeURIComponent(segments[4] ?? '')).toBe(value);
      }),
      { numRuns: 2000 },
    );
  });

  it.each(['.', '..', '', '\u0000', '\u007f', '\ud83d'])('rejects %j', (value) => {
    expect(() => path`/x/${{ value }}`).toThrow(GatewayError);
  });

  it('keeps the text of the template unchanged', () => {
    expect(path`/a%20b/c`.value).toBe('/a%20b/c');
  });

  it('has a template with the names of its placeholders, whatever its query', () => {
    const { template, value } = path`/a/${{ first_id: '1/2' }}/b/${{ second_id: '3' }}`;
    expect(template).toBe('/a/{first_id}/b/{second_id}');
    expect(value).toBe('/a/1%2F2/b/3');
    const parameter = { name: 'page', value: '2' };
    const audit = path`/api/v1/audit`;
    const base = new URL('http://h');
    for (const changed of [
      withQuery(audit, [parameter]),
      withPage(audit, parameter),
      followLink('?page=2', audit, base),
    ]) {
      expect(changed).toMatchObject({ template: '/api/v1/audit', value: '/api/v1/audit?page=2' });
    }
  });
});

describe('a query', () => {
  it('contains every pair in order', () => {
    const pair = fc.record({
      name: fc.string({ unit: 'grapheme' }),
      value: fc.string({ unit: 'grapheme' }),
    });
    fc.assert(
      fc.property(fc.array(pair, { minLength: 1 }), (pairs) => {
        const { searchParams, pathname, hash } = new URL(
          `http://h${withQuery(path`/a`, pairs).value}`,
        );
        expect([...searchParams].map(([name, value]) => ({ name, value }))).toEqual(pairs);
        expect(pathname + hash).toBe('/a');
      }),
    );
  });

  it('without pairs is omitted', () => {
    expect(withQuery(path`/a`, []).value).toBe('/a');
  });
});

describe('a path that is shown', () => {
  const pair = fc.record({
    name: fc.string({ unit: 'grapheme' }),
    value: fc.string({ unit: 'grapheme' }),
  });
  const shown = fc.constantFrom('name' as const, 'all' as const, undefined);
  const partsOf = (url: string) => url.split(/[?&]/).slice(1);

  it('is the path that was sent once its variables are set', () => {
    const parameters = fc.array(fc.tuple(pair, shown), { maxLength: 6 });
    fc.assert(
      fc.property(parameters, fc.option(pair), fc.option(pair), (given, page, paging) => {
        const query = given.map(([own, what]) =>
          what === undefined ? own : { ...own, shown: what },
        );
        const first = withQuery(path`/api/v1/audit`, query);
        const to = page === null ? first : withPage(first, page);
        const text = showPath(to, paging?.name);
        const sent = partsOf(to.value);
        const parts = partsOf(text);
        const filled = parts.map((part, index) => {
          const [name, value] = (sent[index] ?? '').split('=');
          return part
            .replace(/^\$\w+$/, () => `${name}=${value}`)
            .replace(/=\$\w+$/, () => `=${value}`);
        });
        expect(filled).toEqual(sent);
        const hidden = query.filter((own) => !('shown' in own) && own.name !== page?.name);
        expect(parts.filter((part) => part.startsWith('$P'))).toHaveLength(hidden.length);
      }),
    );
  });

  it('is one word of a shell, whatever the base URL is', () => {
    const base = fc.string({ unit: 'grapheme', maxLength: 40 });
    const urls = fc
      .sample(base, 200)
      .map(
        (text) =>
          URL.parse(`http://h/${text}`)?.origin.concat(
            URL.parse(`http://h/${text}`)?.pathname ?? '',
          ) ?? 'http://h',
      );
    const bases = [
      ...urls,
      "http://h/it's",
      "http://h/'",
      'http://h/$HOME',
      'http://h/`id`',
      'http://h/"$(id)"',
      'http://h/!x',
    ];
    const shownPath = "/api/v1/audit?it's=$PARAMETER&$PARAMETER_2&c=$CURSOR";
    const lines = bases.map((url) => toCurl(url, shownPath).replace(/^curl -g/, "printf '%s\\n'"));
    const env = { TOKEN: 't', PARAMETER: "a'b", PARAMETER_2: '$(id)', CURSOR: '"[1]' };
    const printed = execFileSync('sh', ['-c', lines.join('\n')], { env, encoding: 'utf8' }).split(
      '\n',
    );
    const path = `/api/v1/audit?it's=a'b&$(id)&c="[1]`;
    const words = ['-H', 'Authorization: Bearer t', '-H', 'Accept: application/json'];
    expect(printed).toEqual([...bases.flatMap((url) => [...words, `${url}${path}`]), '']);
  });
});
