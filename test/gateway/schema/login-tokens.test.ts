import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LoginDocument } from '../../../src/client/operations.generated.ts';
import { ask, gatewayOver } from '../../helpers/gateway.ts';
import { startService } from '../../helpers/service.ts';

/** Words that services put before the name of an access token. */
const KNOWN = [
  ...['api', 'auth', 'authentication', 'authorization', 'bearer', 'client', 'jwt', 'login'],
  ...['oauth', 'private', 'security', 'service', 'session', 'user'],
];

/** Words before the names of tokens for another purpose; and words that nobody uses. */
const UNKNOWN = fc.oneof(
  fc.constantFrom(
    ...['change_password', 'csrf', 'device', 'email', 'mfa', 'offline', 'one_time', 'otp'],
    ...['previous', 'reauth', 'recovery', 'remember', 'reset', 'sync', 'unlock', 'verification'],
  ),
  fc.stringMatching(/^q[a-z]{2,8}$/), // no other word begins with it
);
const REFRESH = fc.constantFrom('refresh', 'renew', 'renewal', 'rotation');
const CORE = fc.constantFrom('token', 'jwt', 'access_token', 'access_jwt');
const AFTER = fc.constantFrom('', '_token', '_value', '_key');
const WRAPPER = fc.constantFrom('', 'data', 'result', 'response', 'body', 'payload', 'auth');

type Style = (words: string) => string;
const STYLE: fc.Arbitrary<Style> = fc.constantFrom<Style>(
  (words) => words,
  (words) => words.replaceAll('_', '-'),
  (words) => words.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
  (words) => words.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase()),
  (words) => words.toUpperCase(),
);

/** A path of a text: one key, or a qualifier that is the key of an object. */
const path = (qualifier: fc.Arbitrary<string>, core: fc.Arbitrary<string>) =>
  fc
    .tuple(qualifier, core, AFTER, STYLE, fc.boolean())
    .map(([before, name, after, style, isNested]) =>
      isNested ? [style(before), style(name + after)] : [style(`${before}_${name}${after}`)],
    );
const PLAIN = fc
  .tuple(fc.constantFrom('access_token', 'token', 'jwt', 'bearer', 'access_jwt'), STYLE)
  .map(([name, style]) => [style(name)]);

/** A JWT, or another text. The number makes it unique. */
const toText = (isJwt: boolean, index: number) =>
  isJwt ? `eyJhbGciOiJub25lIn0.${btoa(`{"sub":"${index}"}`)}.x` : `opaque-${index}-text`;

type Text = { readonly path: readonly string[]; readonly isJwt: boolean };
const text = (of: fc.Arbitrary<string[]>): fc.Arbitrary<Text> =>
  fc.record({ path: of, isJwt: fc.boolean() });

/** Builds a body. A text whose path is taken already is left out. */
function toBody(wrapper: string, texts: readonly Text[], members: object = {}) {
  const content: Record<string, unknown> = { ...members };
  const values = texts.map(({ path: keys, isJwt }, index) => {
    const value = toText(isJwt, index);
    const [first = '', second] = keys;
    if (first in content) return null;
    content[first] = second === undefined ? value : { [second]: value };
    return value;
  });
  return { body: wrapper === '' ? content : { [wrapper]: content }, values };
}

/** Asks for something more than this login. */
const STEP = fc.oneof(
  fc
    .tuple(
      fc.oneof(
        UNKNOWN.map((word) => `${word}_required`),
        UNKNOWN.map((word) => `must_${word}`),
        UNKNOWN.map((word) => `needs_${word}`),
        UNKNOWN.map((word) => `${word}_pending`),
        UNKNOWN.map((word) => `requires_${word}`),
        fc.constantFrom('challenge', 'challenge_name'),
      ),
      STYLE,
      fc.constantFrom<unknown>(true, 1, 'true', 'SMS_MFA', 'newPassword'),
    )
    .map(([name, style, value]) => ({ [style(name)]: value })),
  fc.constantFrom(
    { status: 'MFA_REQUIRED' },
    { state: 'passwordChangeRequired' },
    { login_status: 'pending' },
    { mfa: { required: true } },
    { challenge: { type: 'otp', id: 7 } },
  ),
);

/** Members with the same words that ask for nothing. */
const NO_STEP = fc.constantFrom<object>(
  { mfa_required: false },
  { mfaRequired: 'no', pending: 0 },
  { mfa_enabled: true, verified: false },
  { mfaStatus: 'disable' },
  { challenge: {}, pending_invitations: 2 },
  { status: 'mfa_not_required' },
  { user: { must_change_password: true } },
  { client: { status: 'pending', approval_required: true } },
  { password_change_required_by: '2027-01-01T00:00:00Z' },
);

describe('the access token of any response to a login', () => {
  let body: unknown;
  let service: Awaited<ReturnType<typeof startService>>;
  let gateway: ReturnType<typeof gatewayOver>;
  let mapped: ReturnType<typeof gatewayOver>;

  beforeAll(async () => {
    service = await startService(() => ({ body: JSON.stringify(body) }));
    const limits = { loginRateLimit: 0 };
    gateway = gatewayOver(service.url, limits);
    const contract = { login: { accessToken: ['/mapped', '/data/mapped'] } };
    mapped = gatewayOver(service.url, { ...limits, contract });
  });

  afterAll(async () => {
    for (const one of [gateway, mapped, service]) await one[Symbol.asyncDispose]();
  });

  async function logIn(sent: unknown, over = gateway) {
    body = sent;
    const variables = { clientId: 'c', credential: { clientSecret: 's' } };
    const { data, errors } = await ask(over, LoginDocument, variables);
    return { login: data?.login, error: errors?.[0] };
  }

  it('is never a text with an unknown qualifier, in its own name or in that of its object', async () => {
    const texts = fc.array(text(path(UNKNOWN, CORE)), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(WRAPPER, texts, fc.option(text(path(REFRESH, CORE))), async (...given) => {
        const [wrapper, others, refresh] = given;
        const { body: sent, values } = toBody(wrapper, [...others, ...(refresh ? [refresh] : [])]);
        const { login, error } = await logIn(sent);
        expect(login ?? null).toBeNull();
        expect(error?.extensions.reason).toBe('NO_TOKEN');
        expect(error?.message).toContain('login.accessToken');
        for (const value of values) expect(error?.message).not.toContain(value);
      }),
      { numRuns: 300 },
    );
  });

  it('is the one with a plain name, then the one with a known qualifier, whatever is beside it', async () => {
    const own = fc.oneof(PLAIN, path(fc.constantFrom(...KNOWN), CORE));
    const others = fc.array(text(path(UNKNOWN, CORE)), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(
        WRAPPER,
        text(own),
        others,
        NO_STEP,
        async (wrapper, first, more, members) => {
          fc.pre(!((first.path[0] ?? '') in members));
          const { body: sent, values } = toBody(wrapper, [first, ...more], members);
          const { login } = await logIn(sent);
          expect(login?.accessToken).toBe(values[0]);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('is not there if the response asks for a further step, unless the contract says where it is', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('', 'data'),
        text(PLAIN),
        STEP,
        async (wrapper, own, step) => {
          const { body: sent } = toBody(wrapper, [own], { ...step, mapped: 'm' });
          const { login, error } = await logIn(sent);
          expect(login ?? null).toBeNull();
          expect(error?.extensions.reason).toBe('NO_TOKEN');
          expect(error?.message).toContain('further step');
          expect((await logIn(sent, mapped)).login?.accessToken).toBe('m');
        },
      ),
      { numRuns: 300 },
    );
  });

  it('is not a refresh token, which is read under each of its names', async () => {
    await fc.assert(
      fc.asyncProperty(WRAPPER, text(PLAIN), text(path(REFRESH, CORE)), async (...given) => {
        const [wrapper, own, refresh] = given;
        const { body: sent, values } = toBody(wrapper, [own, refresh]);
        const { login } = await logIn(sent);
        expect(login).toMatchObject({ accessToken: values[0], refreshToken: values[1] });
      }),
      { numRuns: 200 },
    );
  });

  it.each<readonly [object, string | null]>([
    [{ jwt: 'j', renewal_token: 'R' }, 'j'],
    [{ idToken: 'i', refreshToken: 'R', email: 'ann@example.com' }, 'i'],
    [{ idToken: 'i', accessToken: 'a' }, 'a'],
    [{ access: { token: 'a', key: 'k' }, refresh: { token: 'R' } }, 'a'],
    [{ token: 'a', apiToken: 'b', jwt: 'c' }, 'a'],
    [{ accessJwt: 'a', refreshJwt: 'R' }, 'a'],
    [{ accessKey: 'a' }, 'a'],
    [{ must_change_password: true, change_password_token: 'x' }, null],
    [{ recoveryToken: 'x', mfa_required: true }, null],
  ])('of %j is %s', async (sent, expected) => {
    expect((await logIn(sent)).login?.accessToken ?? null).toBe(expected);
  });

  it('is named in no message by what the service chose as a name', async () => {
    const { error } = await logIn({ sk_live_4f9a: { token: 'x' }, c4n4ry_token: 'y' });
    expect(error?.message).toContain('one of /*/token, /*_token,');
    expect(error?.message).not.toMatch(/sk_live|c4n4ry/);
  });
});
