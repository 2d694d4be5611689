/* eslint-disable muster/one-clock -- Messages are dated by the database, as processes on several hosts compete for them. */
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { RetryPolicy } from '@muster/contracts';
import { Coalescer, MessageLedger, hideCredentials, newId, PubSub } from '@muster/platform';
import type { QueryResultRow } from 'pg';
import type { DataSource } from 'typeorm';
import type { OutboxEntity } from '../entities/outbox';
import { currentTransaction } from '../events/record-organization-event';
import { runScopedStatement } from '../transactions/run-scoped-statement';
import { OutboxRelay } from './outbox-relay';

/**
 * SQL for the organization of a dead letter: that of the entity in its payload. A message that the service enqueued for
 * itself has no organization until it becomes a dead letter.
 */
const owners = [
  'organization_id',
  ...Object.entries({
    agentId: 'agent',
    jobId: 'job',
    commandId: 'agent_command',
    wakeId: 'agent_wake',
    batchId: 'batch',
    recomputeId: 'cost_recompute',
    pilotBatchId: 'pilot_batch',
    sessionId: 'autopilot_session',
    analysisId: 'video_analysis',
    submissionId: 'feedback_submission',
  }).map(([name, table]) => `(SELECT t.organization_id FROM ${table} t WHERE t.id = (payload->>'${name}')::uuid)`),
].join(', ');

/** Returns whether a message still waits, deletes handled messages, and retries or dead-letters failed ones. */
@Injectable()
export class OutboxLedger extends MessageLedger implements OnApplicationShutdown {
  private readonly logger = new Logger(OutboxLedger.name);

  private readonly waitingIds = new Coalescer<string, boolean>(async (ids) => {
    const text = 'SELECT id FROM outbox WHERE id = ANY($1) AND next_publish_at IS NOT NULL';
    const found = new Set(
      (await this.runNamedStatement<{ id: string }>('outbox_waiting', text, [ids])).map(({ id }) => id),
    );
    return (id) => found.has(id);
  });

  private readonly handledIds = new Coalescer<string, void>(async (ids) => {
    const statement = { name: 'outbox_handled', text: 'DELETE FROM outbox WHERE id = ANY($1)', values: [ids] };
    // The deletion does not wait for the disk. If a crash undoes it, the message is published again, and its handler
    // finds nothing left to do.
    await runScopedStatement(this.dataSource, 'system', statement, { unflushed: true });
    this.relay.forgetHandled(ids);
    return () => undefined;
  });

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @Inject(OutboxRelay) private readonly relay: OutboxRelay,
    @Inject(PubSub) private readonly pubSub: PubSub,
  ) {
    super();
  }

  override isMessageUnhandled(id: string): Promise<boolean> {
    return this.waitingIds.addItem(id);
  }

  override async markHandled(id: string): Promise<void> {
    try {
      await this.handledIds.addItem(id);
    } catch (error) {
      // The message is published again, and its handler finds nothing left to do.
      this.logger.warn(
        `could not delete a handled outbox row; it will be published again and handled as a no-op: ${(error as Error).message}`,
      );
    }
  }

  override async recordFailure(id: string, error: unknown, policy: RetryPolicy): Promise<'retry' | 'dead'> {
    const reason = hideCredentials(error instanceof Error ? error.message : String(error)).slice(0, 1000);
    const text = `
      WITH failed AS (
      UPDATE outbox
      SET attempts = attempts + 1,
          last_error = $2,
          organization_id = CASE WHEN attempts + 1 >= $3 THEN COALESCE(${owners}) ELSE organization_id END,
          next_publish_at = CASE WHEN attempts + 1 >= $3 THEN NULL
            ELSE now() + LEAST($4 * power(2, attempts), $5) * (0.5 + random() / 2) * interval '1 millisecond' END
      WHERE id = $1 AND next_publish_at IS NOT NULL
      RETURNING id, queue, name, organization_id, next_publish_at IS NULL AS dead),
      insert_event AS (
        INSERT INTO organization_event (organization_id, transaction_id, id, type, data)
        SELECT organization_id, ${currentTransaction}, $6, 'dead_letter',
               jsonb_build_object('id', id, 'queue', queue, 'name', name)
        FROM failed WHERE dead AND organization_id IS NOT NULL)
      SELECT dead, organization_id FROM failed`;
    const values = [id, reason, policy.attempts, policy.backoffMs, policy.maxBackoffMs, newId()];
    type Failed = Pick<OutboxEntity, 'organizationId'> & { dead: boolean };
    const [row] = await this.runNamedStatement<Failed>('outbox_failed', text, values);
    if (!row?.dead) return 'retry';
    if (row.organizationId) this.pubSub.publish('organization', [row.organizationId]);
    return 'dead';
  }

  async onApplicationShutdown(): Promise<void> {
    await this.handledIds.waitUntilIdle();
  }

  private async runNamedStatement<T extends QueryResultRow>(
    name: string,
    text: string,
    values: unknown[],
  ): Promise<T[]> {
    return runScopedStatement<T>(this.dataSource, 'system', { name, text, values });
  }
}
