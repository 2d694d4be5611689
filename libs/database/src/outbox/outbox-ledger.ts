import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { RetryPolicy } from '@muster/contracts';
import { DoorbellLedger, hideCredentials } from '@muster/platform';
import type { DataSource } from 'typeorm';
import { poolOf, runScoped } from '../run-scoped';

const flushAfterMs = 20;
const flushAt = 500;

/** Takes handled doorbells off the table, many at a time, and decides what becomes of failed ones. */
@Injectable()
export class OutboxLedger extends DoorbellLedger implements OnApplicationShutdown {
  private readonly logger = new Logger(OutboxLedger.name);
  private done: string[] = [];
  private timer?: NodeJS.Timeout;

  constructor(@InjectDataSource() private readonly dataSource: DataSource) {
    super();
  }

  override handled(id: string): void {
    this.done.push(id);
    if (this.done.length >= flushAt) void this.flush();
    else this.timer ??= setTimeout(() => void this.flush(), flushAfterMs);
  }

  override async failed(id: string, error: unknown, policy: RetryPolicy): Promise<'retry' | 'dead'> {
    const reason = hideCredentials(error instanceof Error ? error.message : String(error)).slice(0, 1000);
    const text = `
      UPDATE outbox
      SET attempts = attempts + 1,
          last_error = $2,
          next_ring_at = CASE WHEN attempts + 1 >= $3 THEN NULL
            ELSE now() + LEAST($4 * power(2, attempts), $5) * (0.5 + random() / 2) * interval '1 millisecond' END
      WHERE id = $1 AND next_ring_at IS NOT NULL
      RETURNING next_ring_at IS NULL AS dead`;
    const values = [id, reason, policy.attempts, policy.backoffMs, policy.maxBackoffMs];
    const { rows } = await runScoped<{ dead: boolean }>(poolOf(this.dataSource), 'system', { text, values });
    return rows[0]?.dead ? 'dead' : 'retry';
  }

  async onApplicationShutdown(): Promise<void> {
    await this.flush();
  }

  private async flush(): Promise<void> {
    clearTimeout(this.timer);
    delete this.timer;
    const ids = this.done.splice(0);
    if (ids.length === 0) return;
    try {
      const text = 'DELETE FROM outbox WHERE id = ANY($1)';
      await runScoped(poolOf(this.dataSource), 'system', { text, values: [ids], name: 'outbox_handled' });
    } catch (error) {
      // They ring again, and their handlers find nothing left to do.
      this.logger.warn(`${ids.length} handled doorbells stay on the table: ${(error as Error).message}`);
    }
  }
}
