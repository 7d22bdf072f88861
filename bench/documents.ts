import { startMeasured } from '../test/helpers/memory.ts';

const DOCUMENTS = 5000;
const AT_ONCE = 8;

/** With a literal of 2 KB, 3 KB that no limit refuses: 10 aliases, and about 250 tokens. */
const SELECTION = Array.from(
  { length: 10 },
  (_, index) =>
    `nodes${index}: nodes { id occurredAt action outcome ipAddress userAgent actor { identifier name type } target { identifier name type } }`,
).join('\n');
const LITERAL = 'x'.repeat(2000);

/**
 * Sends 5,000 documents of 3 KB, each another one, and gives how much more is alive after them, in bytes.
 * @throws when one is not executed.
 */
export async function measureDocuments(serviceUrl: string): Promise<number> {
  await using gateway = await startMeasured(serviceUrl);
  const ask = async (number: number) => {
    const query = `query Q${number} { audit(first: 1, filter: {actor: "${LITERAL}"}) { ${SELECTION} } }`;
    const response = await fetch(gateway.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer bench' },
      body: JSON.stringify({ query }),
    });
    const answer = await response.text();
    if (!answer.startsWith('{"data":{"audit":{"nodes0":[')) throw new Error(`documents: ${answer}`);
  };
  const send = async (from: number, to: number) => {
    for (let next = from; next < to; next += AT_ONCE)
      await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => ask(next + index)));
  };
  await send(0, 200); // what the first requests load and compile is not what documents take
  const before = await gateway.measure();
  await send(1000, 1000 + DOCUMENTS);
  const after = await gateway.measure();
  return after.alive - before.alive;
}
