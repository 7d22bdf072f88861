import { GatewayError } from '../errors.ts';
import { completeLogin } from '../inference/login.ts';
import { type LoginTokens, readLogin } from '../mapping/login.ts';
import { path } from '../upstream/path.ts';
import { builder, rawArguments, readRaw } from './builder.ts';

builder.mutationField('login', (t) =>
  t.field({
    type: LoginPayload,
    nullable: true,
    description:
      "Obtains tokens. The first login of a client takes its secret, every later one the refresh token. Forwards to POST /api/v1/auth/login; the caller's own Authorization header is never sent there. Null when it failed: `errors` says why.",
    args: {
      clientId: t.arg.id({ required: true, description: 'The client that logs in.' }),
      credential: t.arg({
        type: LoginCredential,
        required: true,
        description: 'What proves that it is the client.',
      }),
    },
    resolve: async (_, { clientId, credential }, { admitLogin, open, contract, now }) => {
      await admitLogin(clientId);
      const answer = await open.post('login', path`/api/v1/auth/login`, {
        client_id: clientId,
        ...toRest(credential),
      });
      return readLogin(completeLogin(answer, contract.login), answer, now());
    },
  }),
);

const LoginCredential = builder.inputType('LoginCredential', {
  description: 'What proves that it is the client: exactly one of the two.',
  isOneOf: true,
  fields: (t) => ({
    clientSecret: t.string({ description: 'The secret, for the first login of a client.' }),
    refreshToken: t.string({
      description: 'The refresh token of the last login, for every login after the first.',
    }),
  }),
});

const LoginPayload = builder.objectRef<LoginTokens>('LoginPayload').implement({
  description: 'The tokens that a login obtained.',
  fields: (t) => ({
    accessToken: t.exposeString('accessToken', {
      description: 'Send it as `Authorization: Bearer …` with every other request.',
    }),
    tokenType: t.exposeString('tokenType', {
      description: 'How to send the token; Bearer unless the service says otherwise.',
    }),
    refreshToken: t.exposeString('refreshToken', {
      nullable: true,
      description: 'For the next login. Null when the service sent none: keep the one you have.',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When the access token ends. Null when the service does not say: be ready for UNAUTHENTICATED.',
    }),
    raw: t.field({
      type: 'JSON',
      nullable: true,
      args: rawArguments,
      description:
        'The whole answer of the service, or the part at a pointer. Null when nothing is there.',
      resolve: readRaw,
    }),
  }),
});

/** `@oneOf` lets one of the two through; the schema's validation has refused all else. */
function toRest(credential: typeof LoginCredential.$inferInput): Readonly<Record<string, string>> {
  const { clientSecret, refreshToken } = credential;
  if (clientSecret != null) return { client_secret: clientSecret };
  if (refreshToken != null) return { refresh_token: refreshToken };
  throw new GatewayError('BAD_USER_INPUT');
}
