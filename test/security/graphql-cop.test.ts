import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Production, startProduction } from '../helpers/production.ts';

/** What the checks need of a response. */
type Reply = { readonly text: string; readonly body: unknown };

/** A check of graphql-cop, reimplemented with its criterion. */
type Check = {
  /** True if it is not flagged. */
  readonly fact: string;
  /** Sends requests, and returns whether graphql-cop would flag the responses. */
  readonly isFlagged: (url: string) => Promise<boolean>;
  /** Why it is flagged on purpose, and harmless. */
  readonly onPurpose?: string;
};

const CHECKS: Readonly<Record<string, Check>> = {
  'alias overloading': {
    fact: '101 aliases of one field are rejected',
    isFlagged: async (url) => {
      const aliases = Array.from({ length: 101 }, (_, index) => `alias${index}: __typename`);
      return has(await ask(url, `query { ${aliases.join('\n')} }`), 'data', 'alias100');
    },
  },
  'array-based query batching': {
    fact: 'a batch of eleven queries is rejected',
    isFlagged: async (url) => {
      const batch = Array.from({ length: 11 }, () => ({ query: 'query { __typename }' }));
      const { body } = await post(url, 'application/json', JSON.stringify(batch));
      return Array.isArray(body) && body.length >= 10;
    },
  },
  'directive overloading': {
    fact: 'ten unknown directives do not get ten errors',
    isFlagged: async (url) => {
      const { body } = await ask(url, `query { __typename ${'@aa'.repeat(10)} }`);
      return errorsOf(body).length === 10;
    },
  },
  'circular query by introspection': {
    fact: 'a circular introspection query is rejected',
    isFlagged: async (url) => {
      const circle = Array.from({ length: 4 }).reduce<string>(
        (inner) => `fields { type { ${inner} } }`,
        'name',
      );
      const reply = await ask(url, `query { __schema { types { ${circle} } } }`);
      return has(reply, 'data', '__schema', 'types');
    },
  },
  'field duplication': {
    fact: 'one field repeated 500 times is rejected',
    isFlagged: async (url) =>
      has(await ask(url, `query { ${'__typename \n'.repeat(500)} }`), 'data', '__typename'),
  },
  'field suggestions': {
    fact: 'a misspelt name gets no suggestion',
    isFlagged: async (url) => {
      // graphql-cop sends only the first, which is rejected as introspection anyway.
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
      const replies = await Promise.all(documents.map((document) => ask(url, document)));
      return replies.some(({ text }) => /did you mean/i.test(text));
    },
  },
  'GET method query support': {
    fact: 'a query by GET is executed',
    isFlagged: async (url) =>
      has(await get(`${url}?${new URLSearchParams({ query: '{__typename}' })}`), 'data'),
    onPurpose:
      'GET only reads, and a read needs an Authorization header, which no page can make a browser send',
  },
  'GraphQL IDE': {
    fact: 'no usual path has a GraphQL IDE',
    isFlagged: async (url) => {
      const paths = ['/graphiql', '/playground', '/console', '/graphql'];
      const replies = await Promise.all(
        paths.flatMap((path) =>
          ['*/*', 'text/html'].map((accept) => get(String(new URL(path, url)), accept)),
        ),
      );
      const names = /graphiql\.min\.css|GraphQL Playground|GraphiQL|graphql-playground|<html/i;
      return replies.some(({ text }) => names.test(text));
    },
  },
  introspection: {
    fact: 'introspection is rejected',
    isFlagged: async (url) =>
      has(
        await ask(url, 'query { __schema { types { name fields { name } } } }'),
        'data',
        '__schema',
      ),
  },
  'POST based url-encoded query': {
    fact: 'a form is rejected',
    isFlagged: async (url) => {
      const form = new URLSearchParams({ query: 'query {__typename}' });
      const type = 'application/x-www-form-urlencoded';
      const replies = [await post(url, type, String(form)), await post(`${url}?${form}`)];
      return replies.some((reply) => has(reply, 'data'));
    },
  },
  'mutation by GET': {
    fact: 'a mutation by GET is rejected',
    isFlagged: async (url) =>
      has(await get(`${url}?${new URLSearchParams({ query: 'mutation {__typename}' })}`), 'data'),
  },
  'trace mode': {
    fact: 'no response contains tracing data',
    isFlagged: async (url) => {
      const replies = [await ask(url, 'query { __typename }'), await ask(url, 'query { nope }')];
      return replies.some(
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
    fact: 'a document with a syntax error gets no exception',
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

describe('graphql-cop in production', () => {
  let production: Production;
  beforeAll(async () => {
    production = await startProduction('http://127.0.0.1:9');
  });
  afterAll(() => production[Symbol.asyncDispose]());

  it('is served', async () => {
    expect(has(await ask(production.url, 'query { __typename }'), 'data', '__typename')).toBe(true);
  });

  it.each(
    Object.entries(CHECKS).map(([title, { fact, onPurpose, ...check }]) => {
      const verdict = onPurpose === undefined ? 'not flagged' : `flagged on purpose: ${onPurpose}`;
      return [title, fact, verdict, check, onPurpose !== undefined] as const;
    }),
  )('checks %s: %s: %s', async (_title, _fact, _verdict, { isFlagged }, expected) => {
    expect(await isFlagged(production.url)).toBe(expected);
  });
});

function ask(url: string, query: string): Promise<Reply> {
  return post(url, 'application/json', JSON.stringify({ query }));
}

function post(url: string, type?: string, body?: string): Promise<Reply> {
  const headers = type === undefined ? {} : { 'content-type': type };
  return read(fetch(url, { method: 'POST', headers, ...(body !== undefined && { body }) }));
}

function get(url: string, accept = '*/*'): Promise<Reply> {
  return read(fetch(url, { headers: { accept } }));
}

async function read(response: Promise<Response>): Promise<Reply> {
  const text = await (await response).text();
  try {
    return { text, body: JSON.parse(text) };
  } catch {
    return { text, body: undefined };
  }
}

/** Follows a path of names. */
function at(value: unknown, ...names: readonly string[]): unknown {
  return names.reduce<unknown>((outer, name) => Object(outer)[name], value);
}

function has({ body }: Reply, ...names: readonly string[]): boolean {
  return Boolean(at(body, ...names));
}

function errorsOf(body: unknown): readonly unknown[] {
  const errors = at(body, 'errors');
  return Array.isArray(errors) ? errors : [];
}
