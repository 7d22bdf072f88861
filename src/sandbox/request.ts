import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

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
