import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parse as parseQuery } from 'node:querystring';
import { setTimeout as wait } from 'node:timers/promises';
import { parseRecording } from '../../util/recording.ts';
import { problem, type RestRequest, type RestResponse, respond } from './routes.ts';
import { replacesResponse, type ScriptedResponse, sendResponse, validateScript } from './script.ts';
import { DEMO_CLIENTS, type SandboxClient } from './seed.ts';
import { openStore, type Store, type StoreOptions } from './store.ts';

/** Where the sandbox listens and what it uses. */
export type SandboxOptions = StoreOptions & {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** A file of `keytrail record`: reads are played back from it. Default: none. */
  readonly recording?: string | undefined;
  /** Called with every request before the sandbox responds. It may return a scripted response. */
  readonly onRequest?: ((request: RestRequest) => ScriptedResponse | undefined) | undefined;
};

/** A running REST service with fake data. Disposing it closes its port. */
export type Sandbox = AsyncDisposable &
  Pick<Store, 'addEvents' | 'clearEvents'> & {
    /** Base URL, without a trailing slash. */
    readonly url: string;
    /** The clients of a new sandbox, with their secrets. */
    readonly clients: readonly SandboxClient[];
  };

/**
 * Starts the sandbox.
 * @throws Node's error if the port or a file cannot be opened, and TypeError for clients, events or a recording that are
 * not valid.
 */
export async function startSandbox({
  host,
  port,
  recording: recordingFile,
  onRequest,
  ...storeOptions
}: SandboxOptions): Promise<Sandbox> {
  const recording =
    recordingFile === undefined ? undefined : parseRecording(readFileSync(recordingFile, 'utf8'));
  const store = await openStore(storeOptions);
  const closing = new AbortController();
  const scriptFor = (request: RestRequest): ScriptedResponse => {
    let script: ScriptedResponse;
    try {
      script = onRequest?.(request) ?? {};
    } catch {
      return problem(500, 'onRequest threw an error.');
    }
    try {
      validateScript(script);
      return script;
    } catch (error) {
      return problem(500, `onRequest returned no valid response. ${Object(error).message}`);
    }
  };
  const respondSafely = (request: RestRequest, ip: string | null): RestResponse => {
    try {
      return respond(store, request, ip, recording);
    } catch (error) {
      return error instanceof URIError
        ? problem(400, 'The path is not percent-encoded correctly.')
        : problem(500, 'The sandbox failed.');
    }
  };
  const server = createServer(async (incoming, response) => {
    const ip = incoming.socket.remoteAddress ?? null; // null if the client has disconnected
    const request = await readRequest(incoming).catch(() => null); // it has disconnected
    if (request === null) return;
    const script = scriptFor(request);
    const own = replacesResponse(script) ? {} : respondSafely(request, ip);
    await wait(script.delayMs ?? 0, null, { signal: closing.signal }).catch(() => {});
    sendResponse({ ...own, ...script }, response, script.lost);
  });
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    store[Symbol.dispose]();
    throw error;
  }
  const { address, family, port: actualPort } = server.address() as AddressInfo; // a TCP server has one
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${actualPort}`,
    clients: storeOptions.clients ?? DEMO_CLIENTS,
    addEvents: store.addEvents,
    clearEvents: store.clearEvents,
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

const MAX_BODY_BYTES = 65_536;

async function readRequest(request: IncomingMessage): Promise<RestRequest> {
  const { method = '', url = '', headers } = request;
  const [, path = '', query = ''] = /^([^?]*)\??(.*)$/s.exec(url) ?? [];
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  const text = size > MAX_BODY_BYTES ? '' : Buffer.concat(chunks).toString();
  return { method, path, query: { ...parseQuery(query) }, headers, body: parseJson(text) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
