import { Injectable } from '@nestjs/common';
import { jobDefinition, type OutboxMessage, type QueueName, queueDefinition } from '@muster/contracts';

export type Handler = (message: OutboxMessage) => Promise<void>;

/**
 * What this process has just committed and handles itself: it begins at once, without a trip through Redis. The row in
 * the outbox is the promise that it happens should the process die. Whatever is not accepted here goes through the queue:
 * its handler runs elsewhere, as many as may run side by side do, or it is a canary, which is to show that the queue works.
 */
@Injectable()
export class Handoff {
  private readonly handlers = new Map<QueueName, Handler>();
  /** By queue, however they came here. */
  private readonly running = new Map<QueueName, number>();
  /** Those that began here, and when their rows must be put off again. */
  private readonly inHand = new Map<string, number>();

  /** From now on this process handles the queue. */
  open(queue: QueueName, handler: Handler): void {
    this.handlers.set(queue, handler);
  }

  close(queue: QueueName): void {
    this.handlers.delete(queue);
  }

  /** Begins those that it can, and answers the others. */
  begin(messages: OutboxMessage[]): OutboxMessage[] {
    return messages.filter((message) => !this.accept(message));
  }

  has(id: string): boolean {
    return this.inHand.has(id);
  }

  get isBusy(): boolean {
    return this.inHand.size > 0;
  }

  /** The messages that are under way and were not put off for so long: nobody else is to begin them meanwhile. */
  putOff(forMs: number): string[] {
    const now = Date.now();
    const ids = [...this.inHand].filter(([, at]) => at <= now).map(([id]) => id);
    for (const id of ids) this.inHand.set(id, now + forMs);
    return ids;
  }

  /** Counts a handler while it runs. */
  async counted(queue: QueueName, work: () => Promise<void>): Promise<void> {
    this.running.set(queue, this.runningOf(queue) + 1);
    try {
      await work();
    } finally {
      this.running.set(queue, this.runningOf(queue) - 1);
    }
  }

  private accept(message: OutboxMessage): boolean {
    const { id, queue, name } = message;
    const handler = this.handlers.get(queue);
    if (!handler || jobDefinition(queue, name)?.byQueue) return false;
    if (this.runningOf(queue) >= queueDefinition(queue).concurrency) return false;
    this.inHand.set(id, 0);
    void handler(message).finally(() => this.inHand.delete(id));
    return true;
  }

  private runningOf(queue: QueueName): number {
    return this.running.get(queue) ?? 0;
  }
}
