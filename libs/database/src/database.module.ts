import {
  Global,
  Inject,
  Logger,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { InjectDataSource, TypeOrmModule } from '@nestjs/typeorm';
import {
  AppIdentity,
  BaseConfig,
  MessageLedger,
  LoopLedger,
  Readiness,
  RecoveryHold,
  registerErrorReader,
} from '@muster/platform';
import type { PoolClient } from 'pg';
import type { DataSource } from 'typeorm';
import { ClockSync } from './clock-sync';
import { buildServiceConnectionOptions } from './data-source';
import { Database } from './database';
import { toAppErrorOfDatabase } from './database-errors';
import { LoopRuns } from './loops/loop-runs';
import { listPendingMigrations } from './migrate-database';
import { OutboxLedger } from './outbox/outbox-ledger';
import { OutboxRelay } from './outbox/outbox-relay';
import { PostgresListener } from './postgres-listener';
import { StoredRecoveryHold } from './recovery/recovery-hold';
import { ReadReplica } from './replica/read-replica';
import { getTypeOrmPool } from './transactions/run-scoped-statement';

/**
 * Provides the database. The process starts without a connection, and is ready once the database responds with the
 * schema of this code.
 */
@Global()
@Module({
  imports: [
    TypeOrmModule.forRootAsync({
      inject: [BaseConfig, AppIdentity],
      useFactory: (config: BaseConfig, app: AppIdentity) => ({
        ...buildServiceConnectionOptions({
          url: config.databaseUrl,
          poolSize: config.databasePoolSize,
          connectTimeoutMs: config.databaseConnectTimeoutMs,
          statementTimeoutMs: config.databaseStatementTimeoutMs,
          // `muster-admin doctor` reads the apps and their versions from these names.
          applicationName: `muster-${app.name} ${app.version}`,
        }),
        manualInitialization: true,
      }),
    }),
  ],
  providers: [
    Database,
    ReadReplica,
    ClockSync,
    OutboxRelay,
    { provide: MessageLedger, useClass: OutboxLedger },
    { provide: LoopLedger, useClass: LoopRuns },
    { provide: RecoveryHold, useClass: StoredRecoveryHold },
    PostgresListener,
  ],
  exports: [Database, MessageLedger, LoopLedger, RecoveryHold, PostgresListener],
})
export class DatabaseModule implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('database');
  private retry?: NodeJS.Timeout;
  private ended = false;
  private migrated = false;

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @Inject(Readiness) private readonly readiness: Readiness,
    @Inject(Database) private readonly database: Database,
    @Inject(ClockSync) private readonly clockSync: ClockSync,
  ) {
    registerErrorReader(toAppErrorOfDatabase);
    readiness.registerCheck('database', () => this.checkSchema(), {
      required: true,
      deep: () => this.checkFreeConnection(),
    });
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.connect();
  }

  async onApplicationShutdown(): Promise<void> {
    this.ended = true;
    clearTimeout(this.retry);
    await this.clockSync.stop();
  }

  /**
   * Connects once in the foreground, so that a normal start is ready when it listens, and then retries in the
   * background.
   */
  private async connect(isRetry = false): Promise<void> {
    try {
      await this.dataSource.initialize();
      const pool = getTypeOrmPool(this.dataSource);
      // A connection that fails while it is checked out emits an error event on the client, which ends the process if
      // the event has no listener. The listener is added at the first checkout, because the first connection of the
      // pool is opened before this code runs.
      const clientsWithListener = new WeakSet<PoolClient>();
      pool.on('acquire', (client: PoolClient) => {
        if (!clientsWithListener.has(client)) client.on('error', () => undefined);
        clientsWithListener.add(client);
      });
      await this.clockSync
        .start()
        .catch((error: Error) => this.logger.warn(`could not read the database's clock: ${error.message}`));
      if (isRetry) this.logger.log('connected to the database');
    } catch (error) {
      if (!isRetry) this.logger.warn(`could not connect to the database; trying again: ${(error as Error).message}`);
      if (!this.ended) this.retry = setTimeout(() => void this.connect(true), 500);
    }
  }

  private async checkSchema(): Promise<void> {
    if (this.migrated) {
      await this.database.query('system', 'SELECT 1', [], 'check');
      return;
    }
    const pending = await listPendingMigrations((sql) => this.database.query('system', sql) as never);
    if (pending.length) throw new Error(`${pending.length} migrations are pending`);
    this.migrated = true;
  }

  /**
   * Checks whether the disk has room: creates a table of one page, which is dropped with its transaction. Throws if
   * there is no room for the file or the commit.
   */
  private async checkFreeConnection(): Promise<void> {
    await this.database.transaction('system', (tx) =>
      tx.execute("CREATE TEMP TABLE room_to_write ON COMMIT DROP AS SELECT repeat('x', 1000) AS page"),
    );
  }
}
