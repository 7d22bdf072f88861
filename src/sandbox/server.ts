import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { problem, type RestResponse, respond } from './routes.ts';
import { checkScript, isWhole, type ScriptedResponse, send } from './script.ts';
import { DEMO_CLIENTS, type DemoClient } from './seed.ts';
import { openStore, type Store, type StoreOptions } from './store.ts';

/** Where the sandbox listens and what it remembers. */
export type SandboxOptions = StoreOptions & {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Sees every request before it is answered, and may have it answered otherwise. */
  readonly onRequest?: ((request: RestRequest) => ScriptedResponse | undefined) | undefined;
};

/** A REST service that stands in for the real one, on a port of its own. */
export type Sandbox = AsyncDisposable & {
  /** Base address, without a slash at the end. */
  readonly url: string;
  /** Who can log in, while the database is new. */
  readonly clients: readonly DemoClient[];
};

/**
 * Starts the sandbox.
 * @throws what Node says when the port or the file cannot be had.
 */
export async function createSandbox({
  host,
  port,
  onRequest,
  ...storeOptions
}: SandboxOptions): Promise<Sandbox> {
  const store = openStore(storeOptions);
  const closing = new AbortController();
  const scriptFor = (request: RestRequest): ScriptedResponse => {
    try {
      const script = onRequest?.(request) ?? {};
      checkScript(script);
      return script;
    } catch {
      return problem(500, 'The script of the answer failed.');
    }
  };
  const server = createServer(async (incoming, response) => {
    const request = await readRequest(incoming).catch(() => null); // its caller left
    if (request === null) return;
    const script = scriptFor(request);
    const own = isWhole(script) ? {} : answerOrFail(store, request);
    await wait(script.delayMs ?? 0, null, { signal: closing.signal }).catch(() => {});
    send({ ...own, ...script }, response, script.lost);
  });
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    store[Symbol.dispose]();
    throw error;
  }
  const { address, family, port: actualPort } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${actualPort}`,
    clients: DEMO_CLIENTS,
    [Symbol.asyncDispose]: async () => {
      if (closing.signal.aborted) return;
      closing.abort();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
      store[Symbol.dispose]();
    },
  };
}

function answerOrFail(store: Store, request: RestRequest): RestResponse {
  try {
    return respond(store, request);
  } catch (error) {
    return error instanceof URIError
      ? problem(400, 'The path is not encoded correctly.')
      : problem(500, 'The sandbox failed.');
  }
}

/** A request to the REST interface, as it arrived. */
export type RestRequest = {
  readonly method: string;
  /** With its query, and encoded. */
  readonly path: string;
  /** By their names in lower case. */
  readonly headers: Readonly<IncomingHttpHeaders>;
  /** What its JSON says; `undefined` for none, for more than 64 KB and for what is no JSON. */
  readonly body: unknown;
  /** The address it came from; null when it has left. */
  readonly ip: string | null;
};

const MAX_BODY_BYTES = 65_536;

/** Reads a request to its end. */
export async function readRequest(request: IncomingMessage): Promise<RestRequest> {
  const { method = '', url = '', headers, socket } = request;
  const ip = socket.remoteAddress ?? null;
  return { method, path: url, headers, body: await readBody(request), ip };
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  try {
    return size > MAX_BODY_BYTES ? undefined : JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    return undefined;
  }
}
