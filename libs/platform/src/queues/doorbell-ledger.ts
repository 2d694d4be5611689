import type { OutboxMessage, RetryPolicy } from '@muster/contracts';

/** Where doorbells are kept until they are handled; the database is it, and this is how the queue side tells it. */
export abstract class DoorbellLedger {
  /** Done: the doorbell need not ring again. Batched; a lost one rings again, and its handler finds nothing to do. */
  abstract handled(id: string): void;

  /** Rings again after the policy's backoff, or becomes a dead letter. */
  abstract failed(id: string, error: unknown, policy: RetryPolicy): Promise<'retry' | 'dead'>;
}

/** Where committed doorbells are handed to the queue. */
export abstract class DoorbellPublisher {
  /** Answers when Redis has them all; a second time is a no-op. */
  abstract publish(messages: OutboxMessage[]): Promise<void>;
}
