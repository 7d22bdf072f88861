import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Production, startProduction } from '../helpers/production.ts';

/** What came back, as far as any check looks at it. */
type Answer = { readonly text: string; readonly body: unknown };

/** A check of graphql-cop, by its criterion, in our words. */
type Check = {
  /** A fact, when it is not flagged. */
  readonly fact: string;
  /** Asks, and says whether graphql-cop would flag what comes back. */
  readonly isFlagged: (url: string) => Promise<boolean>;
  /** Why it is flagged all the same, and harmless. */
  readonly byIntent?: string;
};

const CHECKS: Readonly<Record<string, Check>> = {
  'alias overloading': {
    fact: '101 aliases of one field are not answered',
    isFlagged: async (url) => {
      const aliases = Array.from({ length: 101 }, (_, index) => `alias${index}: __typename`);
      return has(await ask(url, `query { ${aliases.join('\n')} }`), 'data', 'alias100');
    },
  },
  'array-based query batching': {
    fact: 'a list of eleven queries is not answered',
    isFlagged: async (url) => {
      const batch = Array.from({ length: 11 }, () => ({ query: 'query { __typename }' }));
      const { body } = await post(url, 'application/json', JSON.stringify(batch));
      return Array.isArray(body) && body.length >= 10;
    },
  },
  'directive overloading': {
    fact: 'ten unknown directives are not answered with ten errors',
    isFlagged: async (url) => {
      const { body } = await ask(url, `query { __typename ${'@aa'.repeat(10)} }`);
      return errorsOf(body).length === 10;
    },
  },
  'circular query by introspection': {
    fact: 'types of fields of types of fields are not answered',
    isFlagged: async (url) => {
      const circle = Array.from({ length: 4 }).reduce<string>(
        (inner) => `fields { type { ${inner} } }`,
        'name',
      );
      const answer = await ask(url, `query { __schema { types { ${circle} } } }`);
      return has(answer, 'data', '__schema', 'types');
    },
  },
  'field duplication': {
    fact: 'one field written 500 times is not answered',
    isFlagged: async (url) =>
      has(await ask(url, `query { ${'__typename \n'.repeat(500)} }`), 'data', '__typename'),
  },
  'field suggestions': {
    fact: 'a misspelt name is answered without the right one',
    isFlagged: async (url) => {
      // graphql-cop asks the first alone, which is refused as introspection anyway.
      const documents = [
        'query { __schema { directive } }',
        'query { audits }',
        'query { audit(frist: 1) { totalCount } }',
        'query { audit { ... on AuditConection { totalCount } } }',
        'query ($f: AuditFiltre) { audit(filter: $f) { totalCount } }',
        'query { audit(filter: {actr: "a"}) { totalCount } }',
        'query { audit(filter: {outcome: SUCESS}) { totalCount } }',
        'query { audit @inclde(if: true) { totalCount } }',
      ];
      const answers = await Promise.all(documents.map((document) => ask(url, document)));
      return answers.some(({ text }) => /did you mean/i.test(text));
    },
  },
  'GET method query support': {
    fact: 'a query by GET is answered',
    isFlagged: async (url) =>
      has(await get(`${url}?${new URLSearchParams({ query: '{__typename}' })}`), 'data'),
    byIntent:
      'GET only reads, and reads need an Authorization header, which no page can make a browser add',
  },
  'GraphQL IDE': {
    fact: 'no page for browsers is at any address that such a page is known by',
    isFlagged: async (url) => {
      const paths = ['/graphiql', '/playground', '/console', '/graphql'];
      const answers = await Promise.all(
        paths.flatMap((path) =>
          ['*/*', 'text/html'].map((accept) => get(String(new URL(path, url)), accept)),
        ),
      );
      const names = /graphiql\.min\.css|GraphQL Playground|GraphiQL|graphql-playground|<html/i;
      return answers.some(({ text }) => names.test(text));
    },
  },
  introspection: {
    fact: 'the schema is not told',
    isFlagged: async (url) =>
      has(
        await ask(url, 'query { __schema { types { name fields { name } } } }'),
        'data',
        '__schema',
      ),
  },
  'POST based url-encoded query': {
    fact: 'a form is not answered',
    isFlagged: async (url) => {
      const form = new URLSearchParams({ query: 'query {__typename}' });
      const type = 'application/x-www-form-urlencoded';
      const answers = [await post(url, type, String(form)), await post(`${url}?${form}`)];
      return answers.some((answer) => has(answer, 'data'));
    },
  },
  'mutation by GET': {
    fact: 'a mutation by GET is not answered',
    isFlagged: async (url) =>
      has(await get(`${url}?${new URLSearchParams({ query: 'mutation {__typename}' })}`), 'data'),
  },
  'trace mode': {
    fact: 'neither an answer nor an error tells of tracing',
    isFlagged: async (url) => {
      const answers = [await ask(url, 'query { __typename }'), await ask(url, 'query { nope }')];
      return answers.some(
        ({ text, body }) =>
          /stacktrace/i.test(text) ||
          [body, ...errorsOf(body)].some(
            (part) =>
              at(part, 'extensions', 'tracing') !== undefined ||
              at(part, 'extensions', 'exception') !== undefined,
          ),
      );
    },
  },
  'unhandled error detection': {
    fact: 'a document that is none is answered without an exception',
    isFlagged: async (url) => {
      const { body, text } = await ask(url, 'qwerty cop { abc }');
      const [error] = errorsOf(body);
      return (
        error === undefined ||
        at(error, 'extensions', 'exception') !== undefined ||
        / {4}at |node_modules/.test(text)
      );
    },
  },
};

describe('graphql-cop, which asks production', () => {
  let production: Production;
  beforeAll(async () => {
    production = await startProduction('http://127.0.0.1:9');
  });
  afterAll(() => production[Symbol.asyncDispose]());

  it('is answered', async () => {
    expect(has(await ask(production.url, 'query { __typename }'), 'data', '__typename')).toBe(true);
  });

  it.each(
    Object.entries(CHECKS).map(([title, { fact, byIntent, ...check }]) => {
      const verdict = byIntent === undefined ? 'not flagged' : `flagged by intent: ${byIntent}`;
      return [title, fact, verdict, check, byIntent !== undefined] as const;
    }),
  )('about %s, sees that %s: %s', async (_title, _fact, _verdict, { isFlagged }, expected) => {
    expect(await isFlagged(production.url)).toBe(expected);
  });
});

function ask(url: string, query: string): Promise<Answer> {
  return post(url, 'application/json', JSON.stringify({ query }));
}

function post(url: string, type?: string, body?: string): Promise<Answer> {
  const headers = type === undefined ? {} : { 'content-type': type };
  return read(fetch(url, { method: 'POST', headers, ...(body !== undefined && { body }) }));
}

function get(url: string, accept = '*/*'): Promise<Answer> {
  return read(fetch(url, { headers: { accept } }));
}

async function read(response: Promise<Response>): Promise<Answer> {
  const text = await (await response).text();
  try {
    return { text, body: JSON.parse(text) };
  } catch {
    return { text, body: undefined };
  }
}

/** What stands under names in one another. */
function at(value: unknown, ...names: readonly string[]): unknown {
  return names.reduce<unknown>((outer, name) => Object(outer)[name], value);
}

function has({ body }: Answer, ...names: readonly string[]): boolean {
  return Boolean(at(body, ...names));
}

function errorsOf(body: unknown): readonly unknown[] {
  const errors = at(body, 'errors');
  return Array.isArray(errors) ? errors : [];
}
