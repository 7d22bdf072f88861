import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  AuditDocument,
  DeleteApiKeyDocument,
  LoginDocument,
} from '../../../src/client/operations.generated.ts';
import { createSession } from '../../../src/client/session.ts';
import {
  ask,
  codeOf,
  gatewayOver,
  onPort,
  type Result,
  type TestGateway,
} from '../../helpers/gateway.ts';
import { keytrailInProcess } from '../../helpers/process.ts';
import { type Service, startService } from '../../helpers/service.ts';

const CREDENTIAL = { clientId: 'c', credential: { clientSecret: 's' } };

/** Visible ASCII but the comma and the quotes, which end a value in lists of headers. */
const SENDABLE = [...Array(94).keys()]
  .map((index) => String.fromCharCode(0x21 + index))
  .filter((character) => !`,"'`.includes(character));

let issued = '';
let service: Service;
let gateway: TestGateway;
beforeAll(async () => {
  service = await startService(({ method, url }) => {
    if (url.endsWith('/login')) return { body: { access_token: issued } };
    return method === 'DELETE' ? { status: 204 } : { body: [] };
  });
  gateway = gatewayOver(service.url);
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

async function logIn(token: string) {
  issued = token;
  service.forget();
  return await ask(gateway, LoginDocument, CREDENTIAL);
}

const reasonOf = ({ errors }: Pick<Result<unknown>, 'errors'>) => errors?.[0]?.extensions.reason;

describe('a token that a login returns', () => {
  it('is accepted by each operation, and arrives byte for byte', async () => {
    const token = fc.oneof(
      fc.string({ unit: fc.constantFrom(...SENDABLE), minLength: 1 }),
      fc.constantFrom('12|f4Sw', 'a!b', '^', '#', '$', '=', '==a', SENDABLE.join('')),
    );
    const scheme = fc.constantFrom('Bearer ', 'bearer ', 'BEARER  ', 'Bearer    ');
    await fc.assert(
      fc.asyncProperty(token, scheme, async (text, prefix) => {
        const login = await logIn(text);
        expect(login.data?.login?.accessToken).toBe(text);
        const headers = { authorization: `${prefix}${text}` };
        const entities =
          '{ _entities(representations: [{ __typename: "ApiKey", clientId: "k" }]) { ... on ApiKey { audit { totalCount } } } }';
        const results = [
          await ask(gateway, AuditDocument, {}, { headers }),
          await ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { headers }),
          await ask(gateway, entities, {}, { headers }),
        ];
        expect(results.map(codeOf)).toEqual(['', '', '']);
        const session = createSession({
          clientId: 'c',
          clientSecret: 's',
          fetch: gateway.fetch,
          onWarning: () => {},
        });
        expect((await session.request(AuditDocument, {})).errors).toBeUndefined();
        const sent = service.seen.map((request) => request.headers.authorization);
        expect(sent).toEqual([
          undefined,
          ...Array(3).fill(headers.authorization),
          undefined,
          `Bearer ${text}`,
        ]);
      }),
    );
  });

  it('is an error of the login if no request could send it', async () => {
    const token = fc
      .tuple(
        fc.string({ unit: fc.constantFrom(...SENDABLE), minLength: 1, maxLength: 9 }),
        fc.constantFrom(' ', ',', '"', "'", 'ä', '\u{1F511}', '\u00a0', '  ', ', '),
        fc.string({ unit: fc.constantFrom(...SENDABLE), minLength: 1, maxLength: 9 }),
      )
      .map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(fc.oneof(token, fc.constant('a'.repeat(8186))), async (text) => {
        const login = await logIn(text);
        expect([codeOf(login), reasonOf(login)]).toEqual([
          'UPSTREAM_BAD_RESPONSE',
          'TOKEN_MALFORMED',
        ]);
        expect(login.text).toContain('login.accessToken');
        if (text.length > 9) expect(login.text).not.toContain(text.slice(0, 8));
        // `fetch` itself refuses other characters.
        if (/^[\x20-\xff]*$/.test(text))
          expect(reasonOf(await ask(gateway, AuditDocument, {}, { token: text }))).toBe(
            'TOKEN_MALFORMED',
          );
        expect(service.seen).toHaveLength(1);
      }),
    );
  });

  it('is taken from KEYTRAIL_TOKEN', async () => {
    await using server = await onPort(gateway);
    for (const token of ['12|f4Sw', SENDABLE.join('')]) {
      service.forget();
      await using command = keytrailInProcess(['audit', '--gateway', server.url], {
        KEYTRAIL_TOKEN: `${token}\n`,
      });
      expect(await command.status).toBe(0);
      expect(service.seen.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${token}`]);
    }
    for (const token of ['a b', 'a,b', 'ä']) {
      await using command = keytrailInProcess(['audit', '--gateway', server.url], {
        KEYTRAIL_TOKEN: token,
      });
      expect(await command.status).toBe(2);
    }
  });
});
