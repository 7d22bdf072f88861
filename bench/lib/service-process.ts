import { appendFileSync } from 'node:fs';
import { startService } from '../../test/helpers/service.ts';
import { BEHAVIOURS, deal } from './behaviours.ts';

const [, , journal = '', port = ''] = process.argv;

const start = (at: number) => {
  const starting = startService(async (seen, response) => {
    (await starting).forget();
    const { tag, well } = deal(seen);
    if (seen.method !== 'GET') appendFileSync(journal, `${tag}\n`); // outlives a SIGKILL
    const behave = BEHAVIOURS.get(tag.split('.', 1).join());
    return behave === undefined ? well : behave(well, response, tag);
  }, at);
  return starting;
};

let service = await start(Number(port));

process.once('disconnect', () => process.exit()); // whoever started it has gone
process.on('message', async (message) => {
  if (message === 'refuse') await service[Symbol.asyncDispose]();
  if (message === 'listen') service = await start(Number(new URL(service.url).port));
  process.send?.(message);
});
process.send?.(service.url);
