import { GatewayError } from '../../errors.ts';
import { findLoginDrift } from '../inference/contract-drift.ts';
import { explainMissingToken, toReadableLogin } from '../inference/login.ts';
import { type LoginTokens, readLogin, requiresJson } from '../mapping/login.ts';
import { path } from '../upstream/path.ts';
import { type Builder, FIELDS_OF_PAYLOAD, rawField, UPSTREAM_CODES } from './builder.ts';

/** Adds `Mutation.login`. Forwards to POST /api/v1/auth/login, without the caller's Authorization header. */
export function addLogin(builder: Builder): void {
  const LoginCredential = builder.inputType('LoginCredential', {
    description: 'The credential of a client: exactly one of these.',
    isOneOf: true,
    fields: (t) => ({
      clientSecret: t.string({ description: "The client secret, for a client's first login." }),
      refreshToken: t.string({
        description: 'The refresh token of the previous login, for every later login.',
      }),
    }),
  });

  const LoginPayload = builder.objectRef<LoginTokens>('LoginPayload').implement({
    description: 'The tokens that a login obtained.',
    fields: (t) => ({
      accessToken: t.exposeString('accessToken', {
        description: 'Send it as `Authorization: Bearer <accessToken>` with every other request.',
      }),
      tokenType: t.exposeString('tokenType', {
        description:
          'The authentication scheme of the token; Bearer unless the service says otherwise.',
      }),
      refreshToken: t.exposeString('refreshToken', {
        nullable: true,
        description:
          'The credential of the next login. Null if the service returned none: keep using the previous one.',
      }),
      expiresAt: t.expose('expiresAt', {
        type: 'DateTime',
        nullable: true,
        description:
          'When the access token expires. Null if the service does not say: log in again after UNAUTHENTICATED.',
      }),
      raw: t.field(
        rawField(
          builder,
          'The response of the service, tokens included, or a part of it. Null if the part does not exist.',
        ),
      ),
    }),
  });

  builder.mutationField('login', (t) =>
    t.field({
      type: LoginPayload,
      nullable: true,
      description: `Obtains tokens: with the client secret the first time, with the latest refresh token afterwards. Forwards to POST /api/v1/auth/login; the Authorization header of the request is not sent there. Null if it fails. Codes: ${UPSTREAM_CODES}, and OUTCOME_UNKNOWN: the credential may have been used up.`,
      args: {
        clientId: t.arg.id({ required: true, description: 'The client that logs in.' }),
        credential: t.arg({
          type: LoginCredential,
          required: true,
          description: 'Its client secret or refresh token.',
        }),
      },
      resolve: async (_, { clientId, credential }, { calls, limits, contract }) => {
        const { configured, now, reportDrift } = contract;
        const isRefresh = credential.refreshToken != null;
        const rememberSuccess = await limits.admitLogin({ clientId, isRefresh });
        limits.admitValues(1, FIELDS_OF_PAYLOAD);
        const tokens = await calls.unauthenticated.post(
          'login',
          path`/api/v1/auth/login`,
          { client_id: clientId, ...toRest(credential) },
          requiresJson(configured.login?.accessToken) ? 'json' : 'any',
          (response) => {
            const read = readLogin(
              toReadableLogin(response, configured),
              response,
              now(),
              (given) => explainMissingToken(given, configured.login),
            );
            reportDrift(findLoginDrift(response, configured.login, read));
            return read;
          },
        );
        await rememberSuccess();
        return tokens;
      },
    }),
  );
}

type Credential = Readonly<Partial<Record<'clientSecret' | 'refreshToken', string | null>>>;

/** Validation has refused everything but exactly one of the two (`@oneOf`). */
function toRest({ clientSecret, refreshToken }: Credential): Readonly<Record<string, string>> {
  if (clientSecret != null) return { client_secret: clientSecret };
  if (refreshToken != null) return { refresh_token: refreshToken };
  throw new GatewayError('BAD_USER_INPUT');
}
