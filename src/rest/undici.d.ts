// Two files of undici, whose version is pinned: its index also loads fetch, WebSocket, caches and mocks.
declare module 'undici/lib/dispatcher/pool.js' {
  import { Pool } from 'undici';

  export = Pool;
}
declare module 'undici/lib/core/errors.js' {
  import { errors } from 'undici';

  export = errors;
}
