// Deep imports, of pinned versions: the entry points of these packages load much more code at every start.

declare module 'undici/lib/dispatcher/pool.js' {
  import { Pool } from 'undici';

  export = Pool;
}
declare module 'undici/lib/dispatcher/proxy-agent.js' {
  import { ProxyAgent } from 'undici';

  export = ProxyAgent;
}
declare module 'undici/lib/web/fetch/index.js' {
  export { fetch } from 'undici';
}
declare module 'undici/lib/api/api-connect.js' {
  import type { Dispatcher } from 'undici';

  const connect: Dispatcher['connect'];
  export = connect;
}
declare module 'undici/lib/core/connect.js' {
  import { buildConnector } from 'undici';

  export = buildConnector;
}
declare module 'undici/lib/core/errors.js' {
  import { errors } from 'undici';

  export = errors;
}
declare module 'rate-limiter-flexible/lib/RateLimiterRedis.js' {
  import { RateLimiterRedis } from 'rate-limiter-flexible';

  export = RateLimiterRedis;
}
declare module 'rate-limiter-flexible/lib/RateLimiterRes.js' {
  import { RateLimiterRes } from 'rate-limiter-flexible';

  export = RateLimiterRes;
}
