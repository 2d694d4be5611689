import { AsyncResource } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { OutboxMessage } from '@muster/contracts';
import { Clock, getRequestContext, Metrics, PubSub, type Topic } from '@muster/platform';
import type { QueryResultRow } from 'pg';
import type { DataSource } from 'typeorm';
import { isRetryableError } from './database-errors';
import { OutboxRelay } from './outbox/outbox-relay';
import { ReadReplica } from './replica/read-replica';
import { runWorksAsSet, type Work } from './sets/run-set';
import { runStatements, type SharedStatement } from './sets/run-statements';
import { type SetResult, Sets } from './sets/sets';
import { OwnConnection } from './transactions/own-connection';
import { buildStatementForRow } from './transactions/row-statement';
import { getTypeOrmPool, runScopedStatement } from './transactions/run-scoped-statement';
import { type Scope, setScopeStatement, setScopeOfSetStatement } from './transactions/scope';
import type { RowStatement, Statement } from './transactions/statement-batch';
import { Transaction } from './transactions/transaction';
import { TakeTurn, Turns } from './transactions/turns';

/** Maximum number of attempts of a transaction. Then its caller gets the deadlock or serialization failure. */
const maxAttempts = 5;
/** Upper bound of the random delay before the next attempt, in milliseconds per attempt so far. */
const retryWithinMs = 20;
/** Maximum number of requests that wait for one key. Further ones are answered with 503. */
const maxWaitingForTurn = 1000;

/** The only class that reads and writes rows. Every statement runs in a scope. */
@Injectable()
export class Database {
  private readonly turns = new Turns(maxWaitingForTurn);
  private readonly transactionSets = new Sets<Work>(
    (scope, works) => this.attemptSharedTransaction(scope, works),
    (scope, work) => this.transaction(scope, work),
  );
  private readonly statementSets = new Sets<SharedStatement>(
    (scope, statements) => runStatements(this.dataSource, scope, statements, this.now()),
    (scope, { alone, values }) =>
      runScopedStatement(this.dataSource, scope, buildStatementForRow(alone, values), { now: this.now() }),
  );

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @Inject(OutboxRelay) private readonly relay: OutboxRelay,
    @Inject(PubSub) private readonly pubSub: PubSub,
    @Inject(Metrics) private readonly metrics: Metrics,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(ReadReplica) private readonly replica: ReadReplica,
  ) {}

  /** Current time by the clock that dates the rows. */
  now(): Date {
    return this.clock.now();
  }

  /**
   * Runs one statement in one round trip. With a name, Postgres keeps the statement's plan; for statements that run
   * often.
   */
  query<T extends QueryResultRow>(scope: Scope, sql: string, parameters: unknown[] = [], name?: string): Promise<T[]> {
    const statement = { text: sql, values: parameters, name };
    if (this.replica.isConfigured && getRequestContext()?.mayLag) return this.readFromReplica(scope, statement);
    return runScopedStatement<T>(this.dataSource, scope, statement, { now: this.now() });
  }

  /**
   * Like `query`, for a statement that is a transaction by itself. Concurrent calls with the same statement and scope
   * are sent as one statement; see `sets/README.md`. `key` identifies the row that the statement locks. `together` is
   * the statement's form in a set of several: it skips a locked row, and then the statement runs alone.
   */
  async sharedQuery<T extends QueryResultRow>(scope: Scope, statement: SharedStatement, key: string): Promise<T[]> {
    return (await this.statementSets.runInSet(statement.alone.many.name, scope, statement, key)) as T[];
  }

  /**
   * Like `query`, for a statement that only reads. Concurrent calls with the same statement and scope are sent as one
   * statement, whose plan reads by keys; see `sets/README.md`. A caller whose statement returns no row reads again alone.
   */
  async sharedRead<T extends QueryResultRow>(scope: Scope, statement: RowStatement, values: unknown[]): Promise<T[]> {
    const shared = { alone: statement, together: statement, values };
    return (await this.statementSets.runInSet(statement.many.name, scope, shared)) as T[];
  }

  /**
   * Like `query`, but does not wait for the WAL flush. For a write that a crash may lose without harm, such as a lease
   * or a record of an attempt.
   */
  queryUnflushed<T extends QueryResultRow>(
    scope: Scope,
    sql: string,
    parameters: unknown[] = [],
    name?: string,
  ): Promise<T[]> {
    return runScopedStatement<T>(
      this.dataSource,
      scope,
      { text: sql, values: parameters, name },
      { now: this.now(), unflushed: true },
    );
  }

  /** Like `query`, for a page that an index has in order. Uses this index, whatever the statistics of the table are. */
  queryInOrder<T extends QueryResultRow>(scope: Scope, sql: string, parameters: unknown[]): Promise<T[]> {
    const statement = { text: sql, values: parameters };
    if (this.replica.isConfigured && getRequestContext()?.mayLag)
      return this.readFromReplica(scope, statement, { inOrder: true });
    return runScopedStatement<T>(this.dataSource, scope, statement, { now: this.now(), inOrder: true });
  }

  /** Runs the statement on the replica, or on the primary if the replica is behind or fails. */
  private async readFromReplica<T extends QueryResultRow>(
    scope: Scope,
    statement: Statement,
    options: { inOrder?: boolean } = {},
  ): Promise<T[]> {
    const source = await this.replica.getFreshReplica();
    if (source) {
      try {
        const rows = await runScopedStatement<T>(source, scope, statement, { now: this.now(), ...options });
        this.metrics.replicaReads.inc({ server: 'replica' });
        return rows;
      } catch (error) {
        if (!this.replica.isFailureOfReplica(error)) throw error;
      }
    }
    this.metrics.replicaReads.inc({ server: 'primary' });
    return runScopedStatement<T>(this.dataSource, scope, statement, { now: this.now(), ...options });
  }

  /** Notifies every process of new data, after a single statement has written it. */
  notify(topic: Topic, id: string): void {
    this.pubSub.publish(topic, [id]);
  }

  /** Publishes messages after a single statement has written their rows. */
  publish(messages: OutboxMessage[]): void {
    this.relay.publishCommitted(messages);
  }

  /**
   * Runs the work in a transaction. The work runs again if Postgres chose the transaction as the victim of a deadlock,
   * or if it throws `TakeTurn`.
   */
  async transaction<T>(scope: Scope, work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.runWithRetries(scope, work, null);
  }

  /**
   * Like `transaction`, but the work may share its database transaction with works of the same name and scope that
   * arrive while one of them is in progress. Works with the same key never share one, as row locks do not exclude each
   * other within a transaction. `sets/README.md` describes what such a work may do.
   */
  async sharedTransaction<T>(name: string, scope: Scope, work: (tx: Transaction) => Promise<T>, key = ''): Promise<T> {
    // The work runs in the async context of its own caller, even if another caller's request starts the set.
    return (await this.transactionSets.runInSet(name, scope, AsyncResource.bind(work), key)) as T;
  }

  private async attemptSharedTransaction(scope: Scope, works: readonly Work[]): Promise<SetResult[]> {
    const client = await getTypeOrmPool(this.dataSource).connect();
    const now = this.now();
    const connection = new OwnConnection(scope, setScopeOfSetStatement(scope, now), client, this.dataSource);
    let unusable: Error | undefined;
    try {
      return await runWorksAsSet(works, {
        ...{ connection, scope, now },
        announce: (tx, messages) => this.announceCommit(tx, messages),
      });
    } finally {
      await connection.rollback().catch((failure: Error) => (unusable = failure));
      client.release(unusable);
    }
  }

  /** Reports a committed transaction to metrics, queues and other processes. */
  private announceCommit(tx: Transaction, messages: OutboxMessage[]): void {
    for (const { queue } of messages) this.metrics.outboxWritten.inc({ queue });
    for (const measure of tx.commitMeasures) measure(this.metrics);
    this.relay.publishCommitted(messages);
    this.relay.forgetHandled(tx.handledMessageIds);
    for (const [topic, ids] of tx.notifications) this.pubSub.publish(topic, ids);
  }

  private async runWithRetries<T>(
    scope: Scope,
    work: (tx: Transaction) => Promise<T>,
    turn: string | null,
  ): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.attemptTransaction(scope, work, turn);
      } catch (error) {
        if (error instanceof TakeTurn && turn === null) {
          return this.turns.runInTurn(error.key, () => this.runWithRetries(scope, work, error.key), error.signal);
        }
        if (attempt >= maxAttempts || !isRetryableError(error)) throw error;
        await sleep(Math.random() * retryWithinMs * attempt);
      }
    }
  }

  private async attemptTransaction<T>(
    scope: Scope,
    work: (tx: Transaction) => Promise<T>,
    turn: string | null,
  ): Promise<T> {
    const client = await getTypeOrmPool(this.dataSource).connect();
    const now = this.now();
    const connection = new OwnConnection(scope, setScopeStatement(scope, now), client, this.dataSource);
    const tx = new Transaction(scope, now, connection, turn);
    let unusable: Error | undefined;
    try {
      const result = await work(tx);
      const answers = tx.hasWork ? await connection.commit(tx.takeLastStatements(), { unflushed: tx.isUnflushed }) : [];
      this.announceCommit(tx, tx.collectMessages(answers));
      return result;
    } catch (error) {
      await connection.rollback().catch((failure: Error) => (unusable = failure));
      throw error;
    } finally {
      // The connection is closed and not returned to the pool, because its rollback failed.
      client.release(unusable);
    }
  }
}
