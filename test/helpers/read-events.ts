import type { ExecutionResult } from 'graphql';

/** What a subscription sends: a result, a comment that keeps the connection open, or that it is complete. */
export type StreamEvent<Data> = ExecutionResult<Data> | 'comment' | 'complete';

/** Reads the server-sent events of a subscription, as the bytes arrive. */
export async function* readEvents<Data = Readonly<Record<string, unknown>>>(
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<StreamEvent<Data>, void> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const [, event, data = ''] = /^event: (\w+)\ndata: ?(.*)$/.exec(block) ?? [];
      if (event === 'next') yield JSON.parse(data);
      else yield event === 'complete' ? event : 'comment';
    }
  }
}
