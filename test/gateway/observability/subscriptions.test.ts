import { SpanStatusCode } from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';
import { CANARY, expectNoCanary, withCanaries } from '../../helpers/canary.ts';
import { acceptTokens } from '../../helpers/gateway.ts';
import { records, startLiveTrail } from '../../helpers/live-trail.ts';
import { subscribe } from '../../helpers/subscribe.ts';
import { createTelemetry } from '../../helpers/telemetry.ts';

const parse = (lines: readonly string[]) => lines.map((line) => JSON.parse(line));

/** A live trail with telemetry. */
async function startObserved(overrides: Parameters<typeof startLiveTrail>[0] = {}) {
  const telemetry = createTelemetry();
  const live = await startLiveTrail({ ...telemetry.parts, ...overrides });
  const metric = async (name: string) =>
    (await telemetry.text())
      .match(new RegExp(`^keytrail_${name} .*`, 'm'))?.[0]
      .split(' ')
      .at(-1);
  return {
    ...live,
    telemetry,
    metric,
    spans: () =>
      telemetry
        .spans()
        .map(({ name, attributes, status }) => [
          name,
          attributes['keytrail.payloads'],
          attributes['keytrail.ended'],
          status.code === SpanStatusCode.ERROR,
        ]),
  };
}

describe('a stream', () => {
  it('that its client ends is logged twice, counted and traced', async () => {
    await using live = await startObserved();
    live.list(1);
    const stream = await subscribe(live.gateway);
    const requestId = stream.response.headers.get('x-request-id');
    expect(parse(live.gateway.logged)).toEqual([
      {
        level: 30,
        time: expect.any(Number),
        requestId,
        operation: 'subscription',
        fields: 'auditEvents',
        msg: 'subscription started',
      },
    ]);
    expect(await live.metric('subscriptions')).toBe('1');
    expect(await live.metric('requests_in_flight')).toBe('0');
    await stream.nextBatch();
    await live.pauses.paused();
    live.list(2, 1);
    live.pauses.resume();
    await stream.nextBatch();
    await live.pauses.paused();
    expect(await live.metric('subscription_payloads_total')).toBe('2');
    await stream[Symbol.asyncDispose]();
    expect(parse(live.gateway.logged).slice(1)).toEqual([
      {
        level: 30,
        time: expect.any(Number),
        requestId,
        operation: 'subscription',
        fields: 'auditEvents',
        status: 200,
        payloads: 2,
        ended: 'client',
        durationMs: expect.any(Number),
        msg: 'request',
      },
    ]);
    expect(await live.metric('subscriptions')).toBe('0');
    expect(await live.telemetry.text()).toContain(
      'keytrail_requests_total{operation="auditEvents",code="OK"} 1',
    );
    expect(await live.telemetry.text()).not.toContain(
      'keytrail_request_duration_seconds_count{operation="auditEvents"}',
    );
    expect(live.spans()).toEqual([
      ['GET /api/v1/audit', undefined, undefined, false],
      ['GET /api/v1/audit', undefined, undefined, false],
      ['subscription auditEvents', 2, 'client', false],
    ]);
    const trace = new Set(live.telemetry.spans().map((span) => span.spanContext().traceId));
    expect(trace.size).toBe(1);
  });

  it.each([
    ['UNAUTHENTICATED', 30, { status: 401 }, false],
    ['UPSTREAM_BAD_RESPONSE', 40, { body: '<p>' }, true],
  ])('that fails with %s is logged at level %i, and traced', async (...of) => {
    const [codes, level, response, isError] = of;
    await using live = await startObserved();
    live.respond(response);
    await using stream = await subscribe(live.gateway);
    await stream.rest();
    expect(parse(live.gateway.logged).at(-1)).toMatchObject({
      level,
      codes,
      payloads: 1,
      ended: 'error',
    });
    expect(live.spans().at(-1)).toEqual(['subscription auditEvents', 1, 'error', isError]);
    expect(await live.telemetry.text()).toContain(
      `keytrail_requests_total{operation="auditEvents",code="${codes}"} 1`,
    );
    expect(await live.metric('subscriptions')).toBe('0');
  });

  it('that the shutdown ends is logged so', async () => {
    const draining = new AbortController();
    await using live = await startObserved({ draining: draining.signal });
    live.list(1);
    await using stream = await subscribe(live.gateway);
    await stream.nextBatch();
    draining.abort();
    expect(await stream.rest()).toEqual([]);
    expect(parse(live.gateway.logged).at(-1)).toMatchObject({ payloads: 1, ended: 'shutdown' });
  });

  it('whose slot another token gets is logged so', async () => {
    await using live = await startObserved({ maxSubscriptions: 2 });
    await acceptTokens(live.gateway, 'greedy', 'other');
    live.list(1);
    const token = 'greedy';
    await using first = await subscribe(live.gateway, {}, { token });
    await using second = await subscribe(live.gateway, {}, { token });
    await using other = await subscribe(live.gateway, {}, { token: 'other' });
    expect(await first.rest()).toEqual([]);
    expect(parse(live.gateway.logged).at(-1)).toMatchObject({ payloads: 0, ended: 'evicted' });
    expect(live.spans().at(-1)).toEqual(['subscription auditEvents', 0, 'evicted', false]);
    expect(await live.metric('subscriptions')).toBe('2');
    for (const stream of [second, other]) expect((await stream.nextBatch()).nodes).toEqual([]);
  });

  it('that was rejected is logged once, and not counted as a stream', async () => {
    await using live = await startObserved({ maxSubscriptions: 0 });
    await using stream = await subscribe(live.gateway);
    await stream.rest();
    expect(parse(live.gateway.logged)).toMatchObject([
      { level: 40, operation: 'subscription', codes: 'OVERLOADED', msg: 'request' },
    ]);
    expect(await live.metric('subscriptions')).toBe('0');
  });

  it('writes no secret and no text of the service to log, metrics, traces or errors', async () => {
    await using live = await startObserved();
    const secret = {
      filter: { actor: CANARY.literal },
      parameters: [{ name: 'p', value: CANARY.variable }],
    };
    live.list(1);
    live.respond({ body: records(1).map((one) => ({ ...one, actor: 'ann' })) });
    await using stream = await subscribe(live.gateway, secret, { token: CANARY.accessToken });
    await stream.nextBatch();
    await live.pauses.paused();
    live.respond(withCanaries({ status: 500 }));
    const failed = stream.next();
    await live.poll();
    live.respond(withCanaries({ status: 403 }));
    live.pauses.resume();
    expect((await failed)?.errors?.[0]?.extensions.code).toBe('FORBIDDEN');
    await stream.rest();
    await using wrong = await subscribe(live.gateway, { after: CANARY.variable });
    await wrong.rest();
    expectNoCanary(
      [
        ...live.gateway.logged,
        stream.received(),
        wrong.received(),
        JSON.stringify([...stream.response.headers]),
        await live.telemetry.text(),
      ].join('\n'),
    );
  });
});
