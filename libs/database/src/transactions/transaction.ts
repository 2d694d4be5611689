import type { QueueMessage, OutboxMessage } from '@muster/contracts';
import type { Metrics, ReceivedMessage, Topic } from '@muster/platform';
import type { QueryResultRow } from 'pg';
import type { EntityManager } from 'typeorm';
import {
  type Condition,
  buildMessageInsert,
  buildConditionalMessageInsert,
  createOutboxMessages,
} from '../outbox/insert-messages';
import { preferKeyIndexes, avoidSorting } from './planner-settings';
import type { TransactionConnection } from './own-connection';
import { RunAlone } from './run-alone';
import type { Scope } from './scope';
import { buildStatementForRows, buildStatementForRow } from './row-statement';
import type { Answer, RowStatement, Statement } from './statement-batch';

/**
 * A transaction in its scope. It starts with its first statement, and its messages are written with the commit. So it
 * costs one round trip in addition to those of its statements.
 */
export class Transaction {
  private readonly messages: OutboxMessage[] = [];
  private readonly conditional: { message: OutboxMessage; condition: Condition; values: readonly unknown[] }[] = [];
  private readonly receivedMessages: ReceivedMessage[] = [];
  /** Whether a crash may lose the commit; see `allowUnflushedCommit`. */
  isUnflushed = false;
  private isAlongKeys = false;
  private readonly enqueued = new Set<string>();
  private readonly afterCommit: (() => void)[] = [];
  private readonly promised = new Map<Topic, Set<string>>();
  private readonly counts: ((metrics: Metrics) => void)[] = [];
  private readonly deferred: Statement[] = [];

  constructor(
    readonly scope: Scope,
    /** Time that `muster_now()` returns to all statements. */
    readonly now: Date,
    private readonly connection: TransactionConnection,
    /**
     * Key with which the transaction runs after `TakeTurn`: no other transaction with this key runs in this process.
     * Null without such a key.
     */
    readonly turn: string | null = null,
  ) {}

  get manager(): EntityManager {
    this.requireOwnConnection();
    // TypeORM uses the connection directly, so deferred statements are sent now. If they fail, its statements fail,
    // too.
    if (!this.connection.hasBegun || this.deferred.length > 0) void this.sendWithDeferred([]).catch(() => undefined);
    return this.connection.entityManager();
  }

  /**
   * Returns the rows of a statement. With a name, Postgres keeps the statement's plan; for statements that run often.
   */
  async query<T extends object>(sql: string, parameters: unknown[] = [], name?: string): Promise<T[]> {
    return (await this.runStatement({ text: sql, values: parameters, name })).rows as T[];
  }

  /** Returns the number of rows that a statement affected, which may be 0. */
  async execute(sql: string, parameters: unknown[] = [], name?: string): Promise<number> {
    return (await this.runStatement({ text: sql, values: parameters, name })).affected;
  }

  /**
   * Defers a write whose answer is not needed. It is sent before the next statement or with the commit, in the same
   * round trip. If it fails, that statement or the commit fails, too.
   */
  deferStatement(sql: string, parameters: unknown[] = [], name?: string): void {
    this.deferred.push({ text: sql, values: parameters, name });
  }

  /** Like `deferStatement`, for a row that a shared transaction writes together with the rows of other callers. */
  deferRow(into: RowStatement, values: unknown[]): void {
    this.deferred.push(buildStatementForRow(into, values));
  }

  /** Defers the writing of several rows with one statement. Without rows, nothing is written. */
  deferRows(into: RowStatement, rows: unknown[][]): void {
    if (rows.length === 1) this.deferRow(into, rows[0]!);
    else if (rows.length > 1) this.deferred.push(buildStatementForRows(into, rows));
  }

  /** Whether several callers share this database transaction, so that a rollback would undo their statements too. */
  get isShared(): boolean {
    return this.connection.isShared;
  }

  /**
   * Makes the whole work run again in a separate transaction if this one is shared. Call it before work that must not
   * run in a shared transaction. With `isUnchanged`, the caller knows that the statements of this work have changed no
   * row, so the other works of the set do not have to run again.
   */
  requireOwnConnection({ isUnchanged = false } = {}): void {
    if (this.isShared) throw new RunAlone(isUnchanged);
  }

  /**
   * Records that this work changes a row that other works of a shared transaction may have found as well, and returns
   * how many of them have claimed it before. Row locks do not exclude works of one transaction.
   */
  countEarlierClaims(key: string): number {
    return this.connection.countEarlierClaims(key);
  }

  /** Enqueues messages: their rows are written with the commit. Equal messages are enqueued once. */
  enqueue(...messages: QueueMessage[]): Promise<void> {
    const newMessages = messages.filter(({ queue, name, payload }) => {
      const key = `${queue} ${name} ${JSON.stringify(payload)}`;
      return !this.enqueued.has(key) && this.enqueued.add(key);
    });
    this.messages.push(
      ...createOutboxMessages(newMessages, this.scope === 'system' ? null : this.scope.organizationId),
    );
    return Promise.resolve();
  }

  /**
   * Enqueues a message if the condition holds at the commit, after all other statements of the transaction. Equal
   * messages with an equal condition are enqueued once.
   */
  enqueueIf(condition: Condition, values: readonly unknown[], message: QueueMessage): void {
    const key = `${condition.name} ${JSON.stringify([values, message])}`;
    if (this.enqueued.has(key)) return;
    this.enqueued.add(key);
    const [created] = createOutboxMessages([message], this.scope === 'system' ? null : this.scope.organizationId);
    this.conditional.push({ message: created!, condition, values });
  }

  /** Handles the message in this transaction: the commit deletes it from the outbox, a rollback keeps it. */
  markMessageHandled(message: ReceivedMessage): void {
    this.receivedMessages.push(message);
  }

  /**
   * Commits without waiting for the WAL flush, so a crash can lose the whole transaction. Use it only for work that is
   * repeated if lost, such as handling a message: its outbox row reappears with the loss.
   */
  allowUnflushedCommit(): void {
    this.isUnflushed = true;
  }

  /** Sets the planner for following statements whose rows have known keys; see `preferKeyIndexes`. */
  preferKeyIndexes(): void {
    if (!this.isAlongKeys) this.deferred.push(preferKeyIndexes);
    this.isAlongKeys = true;
  }

  /** Sets the planner for following statements whose order an index has; see `avoidSorting`. */
  avoidSorting(): void {
    this.deferred.push(avoidSorting);
  }

  /** Calls the function after the commit, for effects that other processes must not see before. */
  onCommit(work: () => void): void {
    this.afterCommit.push(work);
  }

  /** Notifies every process after the commit that the topic has new data for the id. */
  notify(topic: Topic, id: string): void {
    this.promised.set(topic, (this.promised.get(topic) ?? new Set()).add(id));
  }

  /** Calls the function after the commit, so that metrics do not count what was rolled back. */
  onCommitMeasure(count: (metrics: Metrics) => void): void {
    this.counts.push(count);
  }

  /** Functions of `onCommitMeasure` to call after the commit. */
  get commitMeasures(): readonly ((metrics: Metrics) => void)[] {
    return this.counts;
  }

  /** Ids of the messages that the commit deletes from the outbox. */
  get handledMessageIds(): string[] {
    return this.receivedMessages.map(({ id }) => id);
  }

  /** Ids by topic to notify after the commit. */
  get notifications(): ReadonlyMap<Topic, Set<string>> {
    return this.promised;
  }

  /** Whether anything is left to write at the commit. */
  get hasWork(): boolean {
    return (
      this.connection.hasBegun ||
      this.deferred.length + this.messages.length + this.conditional.length + this.receivedMessages.length > 0
    );
  }

  /** Returns the statements that precede the commit: deferred statements, and those for the messages. */
  takeLastStatements(): Statement[] {
    return [
      ...this.deferred.splice(0),
      ...buildMessageInsert(this.messages),
      ...this.conditional.map(({ message, condition, values }) =>
        buildConditionalMessageInsert(message, condition, values),
      ),
      ...deleteReceivedMessages(this.receivedMessages),
    ];
  }

  /** Called after the commit with the answers to `takeLastStatements`. Returns the messages to publish. */
  collectMessages(answers: readonly Answer[]): OutboxMessage[] {
    const end = deleteReceivedMessages(this.receivedMessages).length;
    const conditionAnswers = answers.slice(answers.length - end - this.conditional.length);
    for (const message of this.receivedMessages) message.isSettled = true;
    for (const work of this.afterCommit) work();
    return [
      ...this.messages,
      ...this.conditional.filter((_, at) => conditionAnswers[at]!.rows.length > 0).map(({ message }) => message),
    ];
  }

  /** Like `query`, for a row of parameters that a shared transaction sends together with the rows of other callers. */
  async queryRow<T extends object>(into: RowStatement, values: unknown[]): Promise<T[]> {
    return (await this.runStatement(buildStatementForRow(into, values))).rows as T[];
  }

  /** Sends independent statements together, and returns the rows of each. */
  async queryStatements(statements: Statement[]): Promise<object[][]> {
    return (await this.sendWithDeferred(statements)).slice(-statements.length).map(({ rows }) => rows);
  }

  private async runStatement(statement: Statement): Promise<Answer<QueryResultRow>> {
    return (await this.sendWithDeferred([statement])).at(-1)!;
  }

  private async sendWithDeferred(statements: Statement[]): Promise<Answer[]> {
    try {
      return await this.connection.sendStatements([...this.deferred.splice(0), ...statements]);
    } catch (error) {
      // The stack of the original error ends in the code that reads the socket. It is replaced with the stack of the
      // caller, which shows the statement.
      if (error instanceof Error) Error.captureStackTrace(error);
      throw error;
    }
  }
}

function deleteReceivedMessages(messages: ReceivedMessage[]): Statement[] {
  if (messages.length === 0) return [];
  const ids = messages.map(({ id }) => [id]);
  return [ids.length === 1 ? buildStatementForRow(settled, ids[0]!) : buildStatementForRows(settled, ids)];
}

const settled: RowStatement = {
  one: { name: 'outbox_settled', text: 'DELETE FROM outbox WHERE id = $1' },
  many: { name: 'outbox_settled_set', text: 'DELETE FROM outbox WHERE id = ANY($1)' },
};
