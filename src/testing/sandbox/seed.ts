import type { CompleteEvent } from './event.ts';

/** A client of the sandbox. The secrets of the demo clients are public. */
export type SandboxClient = { readonly clientId: string; readonly secret: string };

/** The clients of a new sandbox. */
export const DEMO_CLIENTS = [
  { clientId: 'demo-admin', secret: 'demo-admin-secret-5f2c9a71' },
  { clientId: 'demo-reports', secret: 'demo-reports-secret-c07b43de' },
  { clientId: 'demo-old-ci', secret: 'demo-old-ci-secret-91ad06f8' },
] as const satisfies readonly SandboxClient[];

const EVENTS = 360;
const DAY_MS = 86_400_000;
const DAYS = 90;

/** What the events of a new sandbox are generated from. */
type EventTemplate = Pick<CompleteEvent, 'action' | 'actor' | 'ipAddress' | 'userAgent'> & {
  readonly targets: readonly string[];
  /** Percentage of failed events. @default 0 */
  readonly failures?: number;
};

const ADMIN = {
  actor: 'demo-admin',
  ipAddress: '198.51.100.17',
  userAgent: 'curl/8.14.1',
} as const;
const REPORTS = {
  actor: 'demo-reports',
  ipAddress: '203.0.113.40',
  userAgent: 'reports/3.2 (python-httpx/0.28.1)',
} as const;
const CI = { actor: 'demo-old-ci', ipAddress: '192.0.2.101', userAgent: 'ci-runner/17.4' } as const;
const ANYONE = {
  actor: null,
  ipAddress: '203.0.113.199',
  userAgent: 'python-requests/2.32.5',
} as const;

/** A template that is listed twice is used twice as often. */
const TEMPLATES: readonly EventTemplate[] = [
  { ...REPORTS, action: 'client.login', targets: ['demo-reports'] },
  { ...REPORTS, action: 'audit.read', targets: ['demo-reports'] },
  { ...REPORTS, action: 'audit.read', targets: ['demo-reports'] },
  { ...CI, action: 'client.login', targets: ['demo-old-ci'], failures: 20 },
  { ...CI, action: 'client.login', targets: ['demo-old-ci'], failures: 20 },
  { ...ADMIN, action: 'client.login', targets: ['demo-admin'], failures: 5 },
  { ...ADMIN, action: 'key.rotate', targets: ['demo-reports', 'demo-old-ci', 'billing'] },
  { ...ADMIN, action: 'key.create', targets: ['billing', 'staging', 'mobile-beta'] },
  { ...ADMIN, action: 'key.delete', targets: ['staging', 'mobile-beta'], failures: 10 },
  { ...ANYONE, action: 'client.login', targets: ['admin', 'root', 'demo-admin'], failures: 100 },
];

/** Generates 360 events of the ninety days before `now`, oldest first. Equal arguments give equal events. */
export function seedTrail(now: Date): readonly CompleteEvent[] {
  const random = createRandom();
  const start = now.getTime() - DAYS * DAY_MS;
  const step = (DAYS * DAY_MS) / EVENTS;
  return Array.from({ length: EVENTS }, (_, index) => {
    const { targets, failures = 0, ...template } = pick(TEMPLATES, random());
    return {
      ...template,
      occurredAt: new Date(Math.floor(start + step * (index + random()))),
      target: pick(targets, random()),
      outcome: random() * 100 < failures ? 'FAILURE' : 'SUCCESS',
    };
  });
}

/** Numbers from 0 to 1, always the same ones: the generator of Park and Miller (MINSTD). */
function createRandom(): () => number {
  let state = 20_260_101;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

/** The item at a fraction of the list, from 0 up to 1. */
function pick<T>(items: readonly T[], fraction: number): T {
  const item = items[Math.floor(fraction * items.length)];
  if (item === undefined) throw new RangeError('The list is empty.');
  return item;
}
