import type { OutboxMessage, RetryPolicy } from '@muster/contracts';

/** A message that is being handled. */
export interface MessageInHand {
  readonly id: string;
  /** Its handler's own transaction has taken it off the table, with all that it asked for. */
  isSettled: boolean;
}

/** Where messages are kept until they are handled; the database is it, and this is how the queue side speaks to it. */
export abstract class MessageLedger {
  /** Whether anybody still waits for it: a message that was sent twice finds out here that it is the second. */
  abstract waits(id: string): Promise<boolean>;

  /** Done: it need not be published again. Until this is said the queue keeps its id, so that no second one can begin. */
  abstract handled(id: string): Promise<void>;

  /** Is published again after the policy's backoff, or becomes a dead letter. */
  abstract failed(id: string, error: unknown, policy: RetryPolicy): Promise<'retry' | 'dead'>;
}

/** Where committed messages are handed to the queue. */
export abstract class MessagePublisher {
  /** Answers when Redis has them all; a second time is a no-op. */
  abstract publish(messages: OutboxMessage[]): Promise<void>;
}
