import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { type Doorbell, type OutboxMessage } from '@muster/contracts';
import type { QueryResultRow } from 'pg';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { isRetryable } from './database-errors';
import { insertDoorbells } from './outbox/insert-doorbells';
import { OutboxRelay } from './outbox/outbox-relay';
import { connectionLost, notConnected, runScoped } from './run-scoped';
import { type Scope, setScope } from './scope';

/** A transaction in its scope. Doorbells that are rung in it are rows of it, and sound after it has committed. */
export class Transaction {
  private readonly doorbells: OutboxMessage[] = [];
  private readonly afterCommit: (() => void)[] = [];

  constructor(
    readonly scope: Scope,
    private readonly runner: QueryRunner,
  ) {}

  get manager(): EntityManager {
    return this.runner.manager;
  }

  /** The rows that a statement answers. */
  async query<T extends object>(sql: string, parameters: unknown[] = []): Promise<T[]> {
    const result = await this.runner.query(sql, parameters, true);
    return (result.records ?? []) as T[];
  }

  /** How many rows a statement touched. Zero is an answer. */
  async execute(sql: string, parameters: unknown[] = []): Promise<number> {
    const result = await this.runner.query(sql, parameters, true);
    return result.affected ?? 0;
  }

  /** Promises a ring, with this transaction's fate. */
  async ring(...doorbells: Doorbell[]): Promise<void> {
    const organizationId = this.scope === 'system' ? null : this.scope.organizationId;
    this.doorbells.push(...(await insertDoorbells(this, doorbells, organizationId)));
  }

  /** Runs once the transaction is durable; for what other processes must not see before. */
  onCommit(work: () => void): void {
    this.afterCommit.push(work);
  }

  /** What is owed after the commit. */
  committed(): OutboxMessage[] {
    for (const work of this.afterCommit) work();
    return this.doorbells;
  }
}

/** The only way to the rows: every statement runs in a scope. */
@Injectable()
export class Database {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @Inject(OutboxRelay) private readonly relay: OutboxRelay,
  ) {}

  /** One statement in one round trip. A name makes Postgres keep its plan: for statements of hot paths. */
  query<T extends QueryResultRow>(scope: Scope, sql: string, parameters: unknown[] = [], name?: string): Promise<T[]> {
    return runScoped<T>(this.dataSource, scope, { text: sql, values: parameters, name });
  }

  async transaction<T>(scope: Scope, work: (tx: Transaction) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.attempt(scope, work);
      } catch (error) {
        if (attempt >= 3 || !isRetryable(error)) throw error;
      }
    }
  }

  private async attempt<T>(scope: Scope, work: (tx: Transaction) => Promise<T>): Promise<T> {
    if (!this.dataSource.isInitialized) throw notConnected();
    const runner = this.dataSource.createQueryRunner();
    try {
      await runner.startTransaction();
      const { text, values } = setScope(scope);
      await runner.query(text, [...values!]);
      const tx = new Transaction(scope, runner);
      const result = await work(tx);
      await runner.commitTransaction();
      this.relay.ring(tx.committed());
      return result;
    } catch (error) {
      // TypeORM lets go of a runner whose connection died; what then fails on it says nothing of the reason.
      if (runner.isReleased) throw connectionLost(error);
      if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
      throw error;
    } finally {
      await runner.release();
    }
  }
}
