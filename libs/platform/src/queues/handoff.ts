import { Injectable } from '@nestjs/common';
import { getJobDefinition, type OutboxMessage, type QueueName, getQueueDefinition } from '@muster/contracts';

export type Handler = (message: OutboxMessage) => Promise<void>;

/**
 * Messages that this process has just committed and handles itself, at once and without a trip through Redis. If the
 * process dies, their outbox rows ensure that they are handled later. A message goes through the queue instead if its
 * handler runs in another process, if the maximum number of handlers is running, or if it is a probe message, which
 * must prove that the queue works.
 */
@Injectable()
export class Handoff {
  private readonly handlers = new Map<QueueName, Handler>();
  /** Number of running handlers by queue, including those of messages from the queue. */
  private readonly running = new Map<QueueName, number>();
  /** Messages that were accepted here and are running, with the time at which their rows must be postponed again. */
  private readonly accepted = new Map<string, number>();

  /** Accepts the messages of a queue from now on. */
  openQueue(queue: QueueName, handler: Handler): void {
    this.handlers.set(queue, handler);
  }

  closeQueue(queue: QueueName): void {
    this.handlers.delete(queue);
  }

  /** Starts the messages that this process can handle, and returns the others. */
  startMessages(messages: OutboxMessage[]): OutboxMessage[] {
    return messages.filter((message) => !this.acceptMessage(message));
  }

  isAccepted(id: string): boolean {
    return this.accepted.has(id);
  }

  get isBusy(): boolean {
    return this.accepted.size > 0;
  }

  /**
   * Returns the running messages that must be postponed now, and counts them as postponed for `forMs`. No other process
   * starts a postponed message.
   */
  takeIdsToPostpone(forMs: number): string[] {
    const now = Date.now();
    const ids = [...this.accepted].filter(([, at]) => at <= now).map(([id]) => id);
    for (const id of ids) this.accepted.set(id, now + forMs);
    return ids;
  }

  /** Counts a handler while it runs. */
  async countHandlerWhileRunning(queue: QueueName, work: () => Promise<void>): Promise<void> {
    this.running.set(queue, this.countRunning(queue) + 1);
    try {
      await work();
    } finally {
      this.running.set(queue, this.countRunning(queue) - 1);
    }
  }

  private acceptMessage(message: OutboxMessage): boolean {
    const { id, queue, name } = message;
    const handler = this.handlers.get(queue);
    if (!handler || getJobDefinition(queue, name)?.byQueue) return false;
    if (this.countRunning(queue) >= getQueueDefinition(queue).concurrency) return false;
    this.accepted.set(id, 0);
    void handler(message).finally(() => this.accepted.delete(id));
    return true;
  }

  private countRunning(queue: QueueName): number {
    return this.running.get(queue) ?? 0;
  }
}
