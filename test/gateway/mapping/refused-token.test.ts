import { describe, expect, it } from 'vitest';
import { AuditDocument, DeleteApiKeyDocument } from '../../../src/client/operations.generated.ts';
import { ask, codeOf, gatewayOver } from '../../helpers/gateway.ts';
import { startService } from '../../helpers/service.ts';

async function codesFor(body: unknown) {
  await using service = await startService({ body });
  await using gateway = gatewayOver(service.url);
  const read = await ask(gateway, AuditDocument, {}, { token: 't' });
  const deletion = await ask(gateway, DeleteApiKeyDocument, { clientId: 'k' }, { token: 't' });
  return [codeOf(read), codeOf(deletion)];
}

describe('a 2xx whose error has a code of OAuth', () => {
  it.each(['invalid_token', 'bad_refresh_token', 'expired_token', 'INVALID_TOKEN', 'invalidToken'])(
    'is UNAUTHENTICATED for a read and a deletion: %s',
    async (error) => {
      expect(await codesFor({ error })).toEqual(['UNAUTHENTICATED', 'UNAUTHENTICATED']);
      expect(await codesFor({ error: { code: error, message: 'x' } })).toEqual([
        'UNAUTHENTICATED',
        'UNAUTHENTICATED',
      ]);
    },
  );

  it.each(['invalid_page_token', 'invalid_scope', 'token', 'invalid'])(
    'is UPSTREAM_ERROR with another code: %s',
    async (error) =>
      expect(await codesFor({ error })).toEqual(['UPSTREAM_ERROR', 'UPSTREAM_ERROR']),
  );

  it('is not UNAUTHENTICATED for a deletion that was done: a client would send it again', async () => {
    const [, deletion] = await codesFor({ deleted: 1, error: 'invalid_token' });
    expect(deletion).toBe('UPSTREAM_ERROR');
  });
});
