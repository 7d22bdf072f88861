import { LARGE_BYTES } from './behaviours.ts';
import { ASK, type Ask } from './questions.ts';
import { failed, type Kind, pick, type Shot, served } from './shots.ts';

const ASKS: readonly Ask[] = Object.values(ASK);
const FILTERED = ASK['audit with a filter'];
const AUDITS = [ASK['audit with a window'], FILTERED];
const MUTATIONS = [ASK.deleteApiKey, ASK.login];
/** What cuts a connection off, by what it does to a read and to a login or a deletion that was sent. */
const LOST = ['UPSTREAM_UNAVAILABLE', 'OUTCOME_UNKNOWN'] as const;
const LATE = ['UPSTREAM_TIMEOUT', 'OUTCOME_UNKNOWN'] as const;

/** Requests that the service fails to answer, or answers at a second try, or with five megabytes. */
export const FAILING_SERVICE: readonly Kind[] = [
  any('cut', 'answer cut off in the middle', 'UPSTREAM_BAD_RESPONSE', 'TRUNCATED'),
  any('500', 'status 500', 'UPSTREAM_ERROR'),
  any('503', 'status 503', 'UPSTREAM_ERROR'),
  any('html', 'garbage: HTML', 'UPSTREAM_BAD_RESPONSE', 'NOT_JSON'),
  any('ssh', 'garbage: not HTTP', 'UPSTREAM_BAD_RESPONSE', 'NOT_HTTP'),
  byKind('reset', 'connection reset', LOST),
  byKind('drip', 'slow drip until the deadline', LATE),
  kind('reset-once', 'read reset once', (tag) => served(pick(AUDITS), tag)),
  kind('503-once', 'read that meets 503 once', (tag) => served(pick(AUDITS), tag)),
  kind('large', `answer of ${LARGE_BYTES / 1e6} MB`, (tag) => served(FILTERED, tag)),
];

function kind(behaviour: string, name: string, aim: (tag: string) => Shot): Kind {
  return { name, aim: (number) => aim(`${behaviour}.${number}`) };
}

function any(behaviour: string, name: string, code: string, reason?: string): Kind {
  return kind(behaviour, name, (tag) => failed(pick(ASKS), tag, code, reason));
}

function byKind(
  behaviour: string,
  name: string,
  [ofRead, ofMutation]: readonly [string, string],
): Kind {
  return kind(behaviour, name, (tag) =>
    Math.random() < 0.5
      ? failed(pick(AUDITS), tag, ofRead)
      : failed(pick(MUTATIONS), tag, ofMutation),
  );
}
