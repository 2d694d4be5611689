import type { OutboxMessage, RetryPolicy } from '@muster/contracts';

/** Where doorbells are kept until they are handled; the database is it, and this is how the queue side tells it. */
export abstract class DoorbellLedger {
  /** Whether anybody still waits for it: a ring that was sent twice finds out here that it is the second. */
  abstract waits(id: string): Promise<boolean>;

  /** Done: it need not ring again. While this is not said the queue keeps its id, so no second ring can begin. */
  abstract handled(id: string): Promise<void>;

  /** Rings again after the policy's backoff, or becomes a dead letter. */
  abstract failed(id: string, error: unknown, policy: RetryPolicy): Promise<'retry' | 'dead'>;
}

/** Where committed doorbells are handed to the queue. */
export abstract class DoorbellPublisher {
  /** Answers when Redis has them all; a second time is a no-op. */
  abstract publish(messages: OutboxMessage[]): Promise<void>;
}
