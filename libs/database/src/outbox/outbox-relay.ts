/* eslint-disable muster/one-clock -- Messages are dated by the database, as processes on several hosts compete for them. */
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { OutboxMessage } from '@muster/contracts';
import { BaseConfig, Handoff, MessagePublisher, Metrics } from '@muster/platform';
import type { DataSource } from 'typeorm';
import { runScoped } from '../transactions/run-scoped';

const batchSize = 500;
/** Most messages are handled before this, and their row is gone. It is well before the sweep would publish them again. */
const noteAfterMs = 1000;
const waitingLimit = 20_000;

/**
 * Has what this process just committed begun, at once and outside the request: here, where this process handles it, and
 * through the queue elsewhere. It may forget: whatever it does not publish, for whatever reason, the sweep finds in the
 * table. So it never blocks, never retries and never grows.
 */
@Injectable()
export class OutboxRelay implements OnApplicationShutdown {
  private readonly logger = new Logger(OutboxRelay.name);
  private waiting: OutboxMessage[] = [];
  private readonly published = new Set<string>();
  private working?: Promise<void>;
  private noting?: NodeJS.Timeout;
  private silentUntil = 0;

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @Inject(MessagePublisher) private readonly publisher: MessagePublisher,
    @Inject(Handoff) private readonly handoff: Handoff,
    @Inject(BaseConfig) private readonly config: BaseConfig,
    @Inject(Metrics) private readonly metrics: Metrics,
  ) {}

  publish(messages: OutboxMessage[]): void {
    if (messages.length === 0 || this.waiting.length > waitingLimit) return;
    this.waiting.push(...messages);
    this.working ??= this.drain().finally(() => delete this.working);
  }

  /** They are handled, by this process at least: nothing needs to be written of their publication. */
  forget(ids: string[]): void {
    for (const id of ids) this.published.delete(id);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.working;
    clearTimeout(this.noting);
    await this.notePublished();
  }

  private async drain(): Promise<void> {
    // Commits that come in the same turn travel together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.waiting.length > 0) {
      const committed = this.waiting.splice(0, batchSize);
      const batch = this.handoff.begin(committed);
      const begun = committed.length - batch.length;
      if (begun > 0) {
        this.metrics.outboxPublished.inc({ by: 'handoff' }, begun);
        this.noteLater();
      }
      if (batch.length === 0 || performance.now() < this.silentUntil) continue;
      try {
        await this.publisher.publish(batch);
        this.metrics.outboxPublished.inc({ by: 'relay' }, batch.length);
        this.remember(batch);
      } catch (error) {
        this.silentUntil = performance.now() + 1000;
        this.logger.warn(`could not publish messages; the sweep will publish them: ${(error as Error).message}`);
      }
    }
  }

  private remember(batch: OutboxMessage[]): void {
    for (const { id } of batch) this.published.add(id);
    this.noteLater();
  }

  private noteLater(): void {
    this.noting ??= setTimeout(() => {
      delete this.noting;
      void this.notePublished();
      if (this.handoff.isBusy) this.noteLater();
    }, noteAfterMs);
  }

  /** Puts off the next publication of what was published and is not handled yet, and of what is under way here. */
  private async notePublished(): Promise<void> {
    const ids = [...this.published, ...this.handoff.putOff(this.config.outboxRepublishMs / 3)];
    this.published.clear();
    if (ids.length === 0) return;
    // What is locked is being handled just now, and waiting for it could mean that the two wait for each other.
    const text = `
      UPDATE outbox SET next_publish_at = now() + $2 * interval '1 millisecond'
      WHERE id IN (
        SELECT id FROM outbox WHERE id = ANY($1) AND attempts = 0 AND next_publish_at IS NOT NULL FOR UPDATE SKIP LOCKED)`;
    try {
      const values = [ids, this.config.outboxRepublishMs];
      await runScoped(this.dataSource, 'system', { text, values, name: 'outbox_note' }, { forgettable: true });
    } catch (error) {
      // The sweep publishes them again; the queue knows their ids.
      this.logger.debug?.(
        `could not record that messages were published; they are published again: ${(error as Error).message}`,
      );
    }
  }
}
