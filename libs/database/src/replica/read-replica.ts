import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { AppIdentity, BaseConfig, finishWithin } from '@muster/platform';
import { DatabaseError } from 'pg';
import { DataSource } from 'typeorm';
import { buildServiceConnectionOptions } from '../data-source';
import { getTypeOrmPool } from '../transactions/run-scoped-statement';

/** Maximum age in milliseconds of what a replica shows. */
const maxReplicaAgeMs = 1000;
/** Time in milliseconds for which a read waits for a replica that is behind, before it reads from the primary. */
const catchUpMs = 100;
const pollMs = 5;
/** Time in milliseconds for which a replica that failed is not used. */
const pauseAfterFailureMs = 5000;

/**
 * A standby of the database (DATABASE_READ_URL) for reads that may be a second old. It is used only while it is known to
 * contain everything that the primary contained within the last second. Otherwise, or if there is none, the reads go to
 * the primary.
 */
@Injectable()
export class ReadReplica implements OnApplicationShutdown {
  private readonly logger = new Logger(ReadReplica.name);
  private readonly source?: DataSource;
  /** `performance.now()` of the newest state of the primary that the replica is known to contain. */
  private containsUntil = -Infinity;
  private catchingUp?: Promise<void>;
  private pausedUntil = -Infinity;

  constructor(
    @InjectDataSource() private readonly primary: DataSource,
    @Inject(BaseConfig) config: BaseConfig,
    @Inject(AppIdentity) app: AppIdentity,
  ) {
    if (config.databaseReadUrl === undefined) return;
    this.source = new DataSource(
      buildServiceConnectionOptions({
        url: config.databaseReadUrl,
        poolSize: config.databasePoolSize,
        connectTimeoutMs: config.databaseConnectTimeoutMs,
        statementTimeoutMs: config.databaseStatementTimeoutMs,
        applicationName: `muster-${app.name} ${app.version}`,
      }),
    );
  }

  get isConfigured(): boolean {
    return this.source !== undefined;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.catchingUp?.catch(() => undefined);
    if (this.source?.isInitialized) await this.source.destroy();
  }

  /** Returns the replica if it is at most `maxReplicaAgeMs` behind the primary; null otherwise. */
  async getFreshReplica(): Promise<DataSource | null> {
    const { source } = this;
    if (!source || performance.now() < this.pausedUntil) return null;
    if (this.isReplicaFresh()) return source;
    this.catchingUp ??= this.waitUntilCaughtUp(source).finally(() => delete this.catchingUp);
    await finishWithin(catchUpMs, this.catchingUp, () => undefined);
    return this.isReplicaFresh() ? source : null;
  }

  /**
   * Whether a statement failed because of the replica, so that it can succeed on the primary: the server is shutting
   * down, canceled the statement to apply a change of the primary, or refused to write. If the replica cannot be
   * reached, stops using it for a while.
   */
  isFailureOfReplica(error: unknown): boolean {
    if (error instanceof DatabaseError) return ownFailures.has(error.code ?? '');
    this.pauseReplica(error as Error);
    return true;
  }

  private pauseReplica(error: Error): void {
    if (performance.now() >= this.pausedUntil)
      this.logger.warn(`the read replica cannot be used; reading from the primary: ${error.message}`);
    this.pausedUntil = performance.now() + pauseAfterFailureMs;
    this.containsUntil = -Infinity;
  }

  private isReplicaFresh(): boolean {
    return performance.now() - this.containsUntil <= maxReplicaAgeMs;
  }

  /** Waits until the replica contains what the primary contains now. Never throws. */
  private async waitUntilCaughtUp(source: DataSource): Promise<void> {
    try {
      if (!source.isInitialized) await source.initialize();
      const at = performance.now();
      // The position of the newest record also covers commits that are not flushed yet.
      const [{ position }] = (await getTypeOrmPool(this.primary).query<{ position: string }>(currentPosition)).rows as [
        { position: string },
      ];
      while (performance.now() - at < maxReplicaAgeMs) {
        const [{ reached }] = (await getTypeOrmPool(source).query<{ reached: boolean | null }>(hasReached, [position]))
          .rows as [{ reached: boolean | null }];
        if (reached === null) throw new Error('the server of DATABASE_READ_URL is not a standby');
        if (reached) {
          this.containsUntil = at;
          return;
        }
        await delay(pollMs);
      }
    } catch (error) {
      this.pauseReplica(error as Error);
    }
  }
}

const ownFailures = new Set(['40001', '25006', '57P01', '57P02', '57P03']);

const currentPosition = 'SELECT pg_current_wal_insert_lsn()::text AS position';
/** Null on a server that is not a standby. */
const hasReached = 'SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() >= $1::pg_lsn END AS reached';
