/* eslint-disable muster/one-clock -- Messages are dated by the database, as processes on several hosts compete for them. */
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { OutboxMessage } from '@muster/contracts';
import { BaseConfig, Handoff, MessagePublisher, Metrics } from '@muster/platform';
import type { DataSource } from 'typeorm';
import { runScopedStatement } from '../transactions/run-scoped-statement';

const batchSize = 500;
/**
 * Delay in milliseconds before published messages are postponed. Most are handled and deleted by then, and the sweep
 * does not publish them yet.
 */
const postponeAfterMs = 1000;
const waitingLimit = 20_000;

/**
 * Starts messages that this process has just committed, at once and outside the request: directly if this process
 * handles them, otherwise through the queue. A message can be dropped here, because the sweep finds every unpublished
 * message in the table. So the relay never waits, never retries, and needs no unlimited memory.
 */
@Injectable()
export class OutboxRelay implements OnApplicationShutdown {
  private readonly logger = new Logger(OutboxRelay.name);
  private waiting: OutboxMessage[] = [];
  private readonly published = new Set<string>();
  private working?: Promise<void>;
  private postponeTimer?: NodeJS.Timeout;
  private pausedUntil = 0;

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @Inject(MessagePublisher) private readonly publisher: MessagePublisher,
    @Inject(Handoff) private readonly handoff: Handoff,
    @Inject(BaseConfig) private readonly config: BaseConfig,
    @Inject(Metrics) private readonly metrics: Metrics,
  ) {}

  publishCommitted(messages: OutboxMessage[]): void {
    if (messages.length === 0 || this.waiting.length > waitingLimit) return;
    this.waiting.push(...messages);
    this.working ??= this.publishWaiting().finally(() => delete this.working);
  }

  /**
   * Removes messages that this process has handled from the list of messages whose next publication will be postponed.
   */
  forgetHandled(ids: string[]): void {
    for (const id of ids) this.published.delete(id);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.working;
    clearTimeout(this.postponeTimer);
    await this.postponePublished();
  }

  private async publishWaiting(): Promise<void> {
    // Messages of commits in the same turn of the event loop are published together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.waiting.length > 0) {
      const committed = this.waiting.splice(0, batchSize);
      const batch = this.handoff.startMessages(committed);
      const startedCount = committed.length - batch.length;
      if (startedCount > 0) {
        this.metrics.outboxPublished.inc({ by: 'handoff' }, startedCount);
        this.schedulePostponement();
      }
      if (batch.length === 0 || performance.now() < this.pausedUntil) continue;
      try {
        await this.publisher.publish(batch);
        this.metrics.outboxPublished.inc({ by: 'relay' }, batch.length);
        this.rememberPublished(batch);
      } catch (error) {
        this.pausedUntil = performance.now() + 1000;
        this.logger.warn(`could not publish messages; the sweep will publish them: ${(error as Error).message}`);
      }
    }
  }

  private rememberPublished(batch: OutboxMessage[]): void {
    for (const { id } of batch) this.published.add(id);
    this.schedulePostponement();
  }

  private schedulePostponement(): void {
    this.postponeTimer ??= setTimeout(() => {
      delete this.postponeTimer;
      void this.postponePublished();
      if (this.handoff.isBusy) this.schedulePostponement();
    }, postponeAfterMs);
  }

  /**
   * Postpones the next publication of messages that were published but not handled, and of those that are being handled
   * here.
   */
  private async postponePublished(): Promise<void> {
    const ids = [...this.published, ...this.handoff.takeIdsToPostpone(this.config.outboxRepublishMs / 3)];
    this.published.clear();
    if (ids.length === 0) return;
    // A locked row is being handled, and waiting for it could cause a deadlock.
    const text = `
      UPDATE outbox SET next_publish_at = now() + $2 * interval '1 millisecond'
      WHERE id IN (
        SELECT id FROM outbox WHERE id = ANY($1) AND attempts = 0 AND next_publish_at IS NOT NULL FOR UPDATE SKIP LOCKED)`;
    try {
      const values = [ids, this.config.outboxRepublishMs];
      await runScopedStatement(this.dataSource, 'system', { text, values, name: 'outbox_note' }, { unflushed: true });
    } catch (error) {
      // The sweep publishes the messages again; the queue ignores a message whose id it already has.
      this.logger.debug?.(
        `could not record that messages were published; they are published again: ${(error as Error).message}`,
      );
    }
  }
}
