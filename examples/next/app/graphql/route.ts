import { createGateway, type Gateway } from 'keytrail';

declare global {
  var keytrail: Gateway | undefined;
}

async function respond(request: Request): Promise<Response> {
  // Created by the first request, as `next build` loads this file too. In a global, as `next dev` reloads it.
  globalThis.keytrail ??= createGateway({
    upstream: { url: process.env.UPSTREAM_URL ?? '' },
    trustedProxies: 1, // the reverse proxy before Next; 0 without one
  });
  return globalThis.keytrail.fetch(request);
}

export { respond as GET, respond as OPTIONS, respond as POST };
