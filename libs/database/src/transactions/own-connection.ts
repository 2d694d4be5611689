import { DatabaseError, type PoolClient } from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import { getScopeRole, type Scope } from './scope';
import { type Answer, sendStatementsTogether, type Statement } from './statement-batch';
import { createTypeOrmManager } from './typeorm-manager';
import { commitUnflushed } from './unflushed';

const begin: Statement = { name: 'muster_begin', text: 'BEGIN' };
const commit: Statement = { name: 'muster_commit', text: 'COMMIT' };
const rollback: Statement = { text: 'ROLLBACK' };

/** The connection through which a transaction sends its statements. */
export interface TransactionConnection {
  /** Whether statements were sent, so that a commit is necessary. */
  readonly hasBegun: boolean;
  /** Whether other callers' statements belong to the same database transaction. */
  readonly isShared: boolean;
  /** Sends statements in one round trip. The first call also starts the transaction and sets its scope. */
  sendStatements(statements: readonly Statement[]): Promise<Answer[]>;
  /** Records a claim of the key, and returns how many works in this database transaction have claimed it before. */
  countEarlierClaims(key: string): number;
  entityManager(): EntityManager;
}

/** A pooled connection that one database transaction uses until it ends. */
export class OwnConnection implements TransactionConnection {
  hasBegun = false;
  readonly isShared = false;
  private unanswered?: Error;
  private manager?: EntityManager;

  constructor(
    private readonly scope: Scope,
    private readonly scopeStatement: Statement,
    private readonly client: PoolClient,
    private readonly dataSource: DataSource,
  ) {}

  async sendStatements(statements: readonly Statement[]): Promise<Answer[]> {
    const start = this.hasBegun ? [] : [begin, this.scopeStatement];
    this.hasBegun = true;
    try {
      return (await sendStatementsTogether(this.client, [...start, ...statements], getScopeRole(this.scope))).slice(
        start.length,
      );
    } catch (error) {
      if (!(error instanceof DatabaseError)) this.unanswered = error as Error;
      throw error;
    }
  }

  /** Returns 0, because no work of another caller can have claimed the key in this transaction. */
  countEarlierClaims(): number {
    return 0;
  }

  /**
   * Sends the last statements and commits. Returns the answers to these statements. With `unflushed` it does not wait
   * for the WAL flush.
   */
  async commit(statements: readonly Statement[], { unflushed }: { unflushed: boolean }): Promise<Answer[]> {
    const answers = await this.sendStatements([...statements, ...(unflushed ? [commitUnflushed] : []), commit]);
    this.hasBegun = false;
    // Postgres answers COMMIT in a failed transaction with a rollback and reports it as a success.
    if (answers.at(-1)!.command !== 'COMMIT')
      throw new Error('nothing was committed because a statement of the transaction had failed');
    return answers.slice(0, statements.length);
  }

  /** Throws if the connection must not be reused, because Postgres may still execute a statement on it. */
  async rollback(): Promise<void> {
    if (this.unanswered) throw this.unanswered;
    if (this.hasBegun) await this.sendStatements([rollback]);
  }

  entityManager(): EntityManager {
    return (this.manager ??= createTypeOrmManager(this.dataSource, this.client));
  }
}
