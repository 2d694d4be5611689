import type { TurnedOffReason } from '@muster/contracts';
import type { SentMessage } from '../messages/send-mail';

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

/** How long after each failure it is tried again; after the last of them it is dead. */
export const retryDelaysMs = [
  5 * secondMs,
  5 * minuteMs,
  30 * minuteMs,
  2 * hourMs,
  5 * hourMs,
  10 * hourMs,
  14 * hourMs,
] as const;

/** By up to this part later, so that what failed together does not come again together. */
const jitter = 0.1;
/** An endpoint that nothing has reached for so long is turned off. */
export const failingLimitMs = 5 * 24 * hourMs;

export interface AttemptFacts {
  /** Null: there was no whole answer. */
  statusCode: number | null;
  error: string | null;
  /** How often it has been tried, this time included. */
  tries: number;
  /** Since when nothing reached its endpoint; null where the last one did. */
  failingSince: Date | null;
}

export interface AttemptDecision {
  delivery: { status: 'delivered' | 'dead' } | { status: 'pending'; dueAt: Date };
  /** Why, for people and logs. */
  reason: string;
  failingSince: Date | null;
  /** Why its endpoint is turned off, where it is. */
  turnOff: TurnedOffReason | null;
}

/** What becomes of a delivery that was just tried, and of its endpoint. `chance` is from 0 to 1. */
export function decideAttempt(facts: AttemptFacts, now: Date, chance: number): AttemptDecision {
  const { statusCode, error, tries } = facts;
  if (error === null && statusCode !== null && statusCode >= 200 && statusCode < 300) {
    return { delivery: { status: 'delivered' }, reason: `answered ${statusCode}`, failingSince: null, turnOff: null };
  }
  const failingSince = facts.failingSince ?? now;
  const fault = error ?? `answered ${statusCode}`;
  if (statusCode === 410) {
    return { delivery: { status: 'dead' }, reason: 'it wants no more (410)', failingSince, turnOff: 'gone' };
  }
  const turnOff = now.getTime() - failingSince.getTime() >= failingLimitMs ? 'failing' : null;
  const delayMs = retryDelaysMs[tries - 1];
  if (delayMs === undefined) {
    return { delivery: { status: 'dead' }, reason: `${fault}, for the last time`, failingSince, turnOff };
  }
  const dueAt = new Date(now.getTime() + Math.round(delayMs * (1 + jitter * chance)));
  return { delivery: { status: 'pending', dueAt }, reason: fault, failingSince, turnOff };
}

export interface MessageDecision extends Omit<AttemptDecision, 'delivery'> {
  delivery: AttemptDecision['delivery'] | { status: 'unclear' };
}

/** The same of a message to people. One that may have arrived is not sent again, and one that never will is dead at once. */
export function decideMessage(
  { outcome, ...facts }: AttemptFacts & Pick<SentMessage, 'outcome'>,
  now: Date,
  chance: number,
): MessageDecision {
  const decision = decideAttempt(facts, now, chance);
  const reason = facts.error ?? `answered ${facts.statusCode}`;
  if (outcome === 'unclear')
    return { delivery: { status: 'unclear' }, reason, failingSince: facts.failingSince, turnOff: null };
  return outcome === 'refused' ? { ...decision, delivery: { status: 'dead' }, reason } : decision;
}
