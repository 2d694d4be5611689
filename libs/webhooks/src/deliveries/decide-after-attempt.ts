import type { TurnedOffReason } from '@muster/contracts';
import type { SentMessage } from '../messages/send-mail';

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

/** Delay before the retry after each failure. A delivery that has used all of them is dead. */
export const retryDelaysMs = [
  5 * secondMs,
  5 * minuteMs,
  30 * minuteMs,
  2 * hourMs,
  5 * hourMs,
  10 * hourMs,
  14 * hourMs,
] as const;

/** Maximum random extension of a delay, as a fraction, so that deliveries that failed together are spread out. */
const jitter = 0.1;
/** Time in milliseconds without a successful delivery after which an endpoint is turned off. */
export const failingLimitMs = 5 * 24 * hourMs;

export interface AttemptFacts {
  /** Status code of the response; null if there was no complete response. */
  statusCode: number | null;
  error: string | null;
  /** Number of attempts to send the delivery, including this one. */
  tries: number;
  /** Time of the first failure since the endpoint’s last success; null if its last attempt succeeded. */
  failingSince: Date | null;
}

export interface AttemptDecision {
  delivery: { status: 'delivered' | 'dead' } | { status: 'pending'; dueAt: Date };
  /** Description of the result of the attempt, for people and for logs. */
  reason: string;
  failingSince: Date | null;
  /** Reason for turning the endpoint off; null if it stays on. */
  turnOff: TurnedOffReason | null;
}

/** Decides the new state of an attempted delivery and of its endpoint. `chance` is a random number from 0 to 1. */
export function decideAfterAttempt(facts: AttemptFacts, now: Date, chance: number): AttemptDecision {
  const { statusCode, error, tries } = facts;
  if (error === null && statusCode !== null && statusCode >= 200 && statusCode < 300) {
    return { delivery: { status: 'delivered' }, reason: `answered ${statusCode}`, failingSince: null, turnOff: null };
  }
  const failingSince = facts.failingSince ?? now;
  const failure = error ?? `answered ${statusCode}`;
  if (statusCode === 410) {
    return { delivery: { status: 'dead' }, reason: 'answered 410; endpoint gone', failingSince, turnOff: 'gone' };
  }
  const turnOff = now.getTime() - failingSince.getTime() >= failingLimitMs ? 'failing' : null;
  const delayMs = retryDelaysMs[tries - 1];
  if (delayMs === undefined) {
    return { delivery: { status: 'dead' }, reason: `${failure}; no attempts left`, failingSince, turnOff };
  }
  const dueAt = new Date(now.getTime() + Math.round(delayMs * (1 + jitter * chance)));
  return { delivery: { status: 'pending', dueAt }, reason: failure, failingSince, turnOff };
}

export interface MessageDecision extends Omit<AttemptDecision, 'delivery'> {
  delivery: AttemptDecision['delivery'] | { status: 'unclear' };
}

/**
 * Decides the new state of an attempted message to people. A message that may have arrived is not sent again. A refused
 * message is dead at once.
 */
export function decideAfterMessageAttempt(
  { outcome, ...facts }: AttemptFacts & Pick<SentMessage, 'outcome'>,
  now: Date,
  chance: number,
): MessageDecision {
  const decision = decideAfterAttempt(facts, now, chance);
  const reason = facts.error ?? `answered ${facts.statusCode}`;
  if (outcome === 'unclear')
    return { delivery: { status: 'unclear' }, reason, failingSince: facts.failingSince, turnOff: null };
  return outcome === 'refused' ? { ...decision, delivery: { status: 'dead' }, reason } : decision;
}
