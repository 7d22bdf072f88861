import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { Caller } from './caller.ts';
import { ASK, type Ask } from './questions.ts';
import { type Kind, pick } from './shots.ts';

const ASKS: readonly Ask[] = Object.values(ASK);

/** Callers who leave, so that there is no answer to judge. */
export const LEAVING_CALLERS: readonly Kind[] = [
  kind('half of a request on a raw socket', async ({ url }, number) => {
    const { body, headers } = ASK['audit with a window'](`well.${number}`);
    const pairs = headers.map((part, index) => (index % 2 === 0 ? `${part}: ` : `${part}\r\n`));
    const text = `POST /graphql HTTP/1.1\r\nhost: ${url.host}\r\n${pairs.join('')}content-length: ${body.length}\r\n\r\n${body}`;
    const socket = connect(Number(url.port), url.hostname);
    await once(socket, 'connect');
    socket.on('error', () => {}); // it may be refused before it has left
    socket.write(text.slice(0, Math.ceil(Math.random() * (text.length - 1))));
    await wait(Math.random() * 50);
    if (Math.random() < 0.5) socket.resetAndDestroy();
    else socket.destroy();
  }),
  kind('caller who leaves while it waits', async ({ post }, number) => {
    const signal = AbortSignal.timeout(Math.floor(Math.random() * 300));
    const answer = await post(pick(ASKS)(`late.${number}`), signal).catch(() => null);
    if (answer !== null) throw new Error('It was answered before the service was.');
  }),
  kind('caller who leaves during its answer of 5 MB', ({ postAndLeave }, number) => {
    const question = ASK['audit with a window'](`large.${number}`);
    const body = JSON.stringify({ query: '{ audit(first: 1) { raw } }' });
    return postAndLeave({ ...question, body });
  }),
];

function kind(name: string, leave: (caller: Caller, number: number) => Promise<void>): Kind {
  return {
    name,
    aim: (number) => ({
      fire: async (caller) => {
        await leave(caller, number);
        return null;
      },
      expected: null,
    }),
  };
}
