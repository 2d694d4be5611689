import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { RetryPolicy } from '@muster/contracts';
import { Coalescer, MessageLedger, hideCredentials } from '@muster/platform';
import type { QueryResultRow } from 'pg';
import type { DataSource } from 'typeorm';
import { runScoped } from '../transactions/run-scoped';
import { OutboxRelay } from './outbox-relay';

/** Says whether a message still waits, takes handled ones off the table, and decides what becomes of failed ones. */
@Injectable()
export class OutboxLedger extends MessageLedger implements OnApplicationShutdown {
  private readonly logger = new Logger(OutboxLedger.name);

  private readonly waitingIds = new Coalescer<string, boolean>(async (ids) => {
    const text = 'SELECT id FROM outbox WHERE id = ANY($1) AND next_publish_at IS NOT NULL';
    const found = new Set((await this.run<{ id: string }>('outbox_waiting', text, [ids])).map(({ id }) => id));
    return (id) => found.has(id);
  });

  private readonly handledIds = new Coalescer<string, void>(async (ids) => {
    const statement = { name: 'outbox_handled', text: 'DELETE FROM outbox WHERE id = ANY($1)', values: [ids] };
    // A row that a crash brings back is published again, and its handler finds nothing left to do.
    await runScoped(this.dataSource, 'system', statement, { forgettable: true });
    this.relay.forget(ids);
    return () => undefined;
  });

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @Inject(OutboxRelay) private readonly relay: OutboxRelay,
  ) {
    super();
  }

  override waits(id: string): Promise<boolean> {
    return this.waitingIds.add(id);
  }

  override async handled(id: string): Promise<void> {
    try {
      await this.handledIds.add(id);
    } catch (error) {
      // It is published again, and its handler finds nothing left to do.
      this.logger.warn(`a handled message stays on the table: ${(error as Error).message}`);
    }
  }

  override async failed(id: string, error: unknown, policy: RetryPolicy): Promise<'retry' | 'dead'> {
    const reason = hideCredentials(error instanceof Error ? error.message : String(error)).slice(0, 1000);
    const text = `
      UPDATE outbox
      SET attempts = attempts + 1,
          last_error = $2,
          next_publish_at = CASE WHEN attempts + 1 >= $3 THEN NULL
            ELSE now() + LEAST($4 * power(2, attempts), $5) * (0.5 + random() / 2) * interval '1 millisecond' END
      WHERE id = $1 AND next_publish_at IS NOT NULL
      RETURNING next_publish_at IS NULL AS dead`;
    const values = [id, reason, policy.attempts, policy.backoffMs, policy.maxBackoffMs];
    const [row] = await this.run<{ dead: boolean }>('outbox_failed', text, values);
    return row?.dead ? 'dead' : 'retry';
  }

  async onApplicationShutdown(): Promise<void> {
    await this.handledIds.idle();
  }

  private async run<T extends QueryResultRow>(name: string, text: string, values: unknown[]): Promise<T[]> {
    return runScoped<T>(this.dataSource, 'system', { name, text, values });
  }
}
