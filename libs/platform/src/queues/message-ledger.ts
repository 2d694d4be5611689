import type { OutboxMessage, RetryPolicy } from '@muster/contracts';

/** A message that is being handled. */
export interface ReceivedMessage {
  readonly id: string;
  /** Whether a transaction of the handler has deleted the outbox row together with its other changes. */
  isSettled: boolean;
}

/** Stores messages until they are handled. The database implements it, and the queue processors use it. */
export abstract class MessageLedger {
  /** Whether the message still has to be handled; false for a duplicate of a handled message. */
  abstract isMessageUnhandled(id: string): Promise<boolean>;

  /**
   * Marks the message as handled, so that it is not published again. Until then the queue stores its id, so that no
   * duplicate can start.
   */
  abstract markHandled(id: string): Promise<void>;

  /** Schedules the message for another attempt after the policy's backoff, or turns it into a dead letter. */
  abstract recordFailure(id: string, error: unknown, policy: RetryPolicy): Promise<'retry' | 'dead'>;
}

/** Publishes committed messages to the queue. */
export abstract class MessagePublisher {
  /** Resolves when Redis has stored all messages. A message that is published again while it waits has no effect. */
  abstract publish(messages: OutboxMessage[]): Promise<void>;
}
