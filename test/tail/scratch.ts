import fc from '/work/h-tail/node_modules/fast-check/lib/fast-check.js';
import { completeAudit } from '/work/h-tail/src/inference/complete-contract.ts';
import { readAuditPage } from '/work/h-tail/src/mapping/audit-page.ts';
import { pollTail } from '/work/h-tail/src/pagination/poll-tail.ts';
import { encodeCheckpoint, decodeCheckpoint } from '/work/h-tail/src/pagination/checkpoint.ts';

type Rec = { id?: string; t: number; serial: number; };
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('push'), n: fc.integer({ min: 1, max: 12 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('push'), n: fc.integer({ min: 13, max: 120 }) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('late'), n: fc.integer({ min: 0, max: 32 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove'), n: fc.integer({ min: 0, max: 60 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('equal'), n: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('poll'), n: fc.integer({ min: 1, max: 4 }) }) },
);
const history = fc.record({
  order: fc.constantFrom('newest-first', 'oldest-first'),
  size: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 6, max: 100 })),
  initial: fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 200 })),
  hasIds: fc.boolean(),
  steps: fc.array(step, { maxLength: 30 }),
});
let stats = { polls: 0, missed: 0, delivered: 0, outside: 0 };
const prop = fc.asyncProperty(history, async ({ order, size, initial, hasIds, steps }) => {
  let serial = 0; let clock = 1_700_000_000;
  const trail: Rec[] = []; // newest first
  const make = (t: number): Rec => { serial += 1; return { ...(hasIds && { id: `r${serial}` }), t, serial }; };
  const content = (r: Rec) => ({ ...(r.id && { id: r.id }), time: new Date(r.t * 1000).toISOString(), action: hasIds ? `a${r.serial % 3}` : `a${r.serial}` });
  for (let i = 0; i < initial; i++) { clock += 1 ; trail.unshift(make(clock)); }
  const contract: any = { audit: { paging: { style: 'page', parameter: 'page', position: null, start: 1 } } };
  const respond = (page: number) => {
    const list = (order === 'newest-first' ? trail : trail.toReversed()).map(content);
    const events = list.slice((page - 1) * size, page * size);
    return { status: 200, headers: {}, body: { events, total: list.length } } as any;
  };
  const fetchPage = async (token: any) => {
    const response = respond(token === null ? 1 : Number(token.value));
    return readAuditPage(completeAudit(response, contract.audit), response, { token, parameters: [] });
  };
  if (order === 'oldest-first' && initial > 10 * size) return;
  let checkpoint: any = null;
  // expectation
  const key = (c: any) => JSON.stringify(c);
  const pending = new Map<number, { rec: Rec, sure: boolean }>(); // added since last checkpoint, not delivered
  let knownAt: Rec[] = []; let whole = false;
  let deliveredKeys = new Map<string, number>();
  const existing = new Map<string, number>(); // keys present at start
  const reach = Math.min(32, order === 'newest-first' ? 32 : 5 * size - 1);
  let removedSince = 0;
  const poll = async (chunk: number) => {
    if (checkpoint !== null) {
      const startPage = checkpoint.start === null ? 1 : Number(checkpoint.start.value);
      for (const value of pending.values()) {
        const idx = trail.indexOf(value.rec);
        const known = new Set(knownAt);
        const isAfterStart = (i: number) => (order === 'newest-first' ? i < 10 * size : trail.length - 1 - i >= (startPage - 1) * size);
        value.sure &&= checkpoint.isWhole && startPage === 1 ? isAfterStart(idx) : trail.some((r, i) => i > idx && known.has(r) && isAfterStart(i));
      }
    }
    for (let guard = 0; guard < 200; guard++) {
      const result = await pollTail(fetchPage as any, { checkpoint, order: null, since: null, isSinceForwarded: false, selection: '' });
      stats.polls++;
      if (result.missed) { stats.missed++; for (const v of pending.values()) v.sure = false; }
      const count = chunk === 4 ? result.events.length : Math.min(result.events.length, chunk * 3);
      for (const event of result.events.slice(0, count)) {
        const k = key(event.raw);
        const hit = [...pending].find(([, { rec }]) => key(content(rec)) === k);
        if (!hit) { if (!result.missed) throw new Error(`delivered twice or never added: ${k}`); }
        else { pending.delete(hit[0]); stats.delivered++; }
      }
      const next = decodeCheckpoint(encodeCheckpoint(result.checkpointAfter(count)));
      checkpoint = next;
      knownAt = trail.slice(0, next.known.length); removedSince = 0;
      if (count === result.events.length && !result.isBehind) break;
      if (guard === 199) throw new Error('never catches up');
    }
    // everything sure must be delivered
    for (const [, { rec, sure }] of pending) if (sure && trail.includes(rec)) throw new Error(`lost ${JSON.stringify(rec)}`);
    pending.clear();
  };
  await poll(4);
  pending.clear();
  for (const { kind, n } of steps as any) {
    if (kind === 'push') for (let i = 0; i < n; i++) { clock += 1; const r = make(clock); trail.unshift(r); pending.set(r.serial, { rec: r, sure: true }); }
    if (kind === 'equal' && !hasIds && trail[0] && trail.filter((r) => key(content(r)) === key(content(trail[0]!))).length + n <= size) for (let i = 0; i < n; i++) { const r = { ...trail[0]!, }; trail.unshift(r); const s = 1e6 + stats.delivered + Math.random(); pending.set(s, { rec: r, sure: false }); }
    if (kind === 'late') {
      const depth = Math.min(n, trail.length);
      const r = make(clock - depth); 
      const newer = depth;
      trail.splice(depth, 0, r);
      const isWhole = checkpoint.isWhole && (order === 'newest-first' || true);
      // a known record older than it, in reach
      const sure = true;
      if (!sure) stats.outside++;
      pending.set(r.serial, { rec: r, sure });
    }
    if (kind === 'remove' && trail.length > 0) { const [r] = trail.splice(n % trail.length, 1); removedSince++; for (const [k, v] of pending) if (v.rec === r) pending.delete(k); }
    if (kind === 'poll') await poll(n);
  }
  await poll(4);
});
await fc.assert(prop, { numRuns: Number(process.argv[2] ?? 500) });
console.log(stats);
