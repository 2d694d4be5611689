import type { QueueMessage, OutboxMessage } from '@muster/contracts';
import type { Metrics, ReceivedMessage, Topic } from '@muster/platform';
import type { QueryResultRow } from 'pg';
import type { EntityManager } from 'typeorm';
import { type Condition, insertMessages, insertWhere, messagesOf } from '../outbox/insert-messages';
import { alongKeys, unsorted } from './along-indexes';
import type { TransactionConnection } from './own-connection';
import { RunAlone } from './run-alone';
import type { Scope } from './scope';
import { rowStatement } from './row-statement';
import type { Answer, RowWriter, Statement } from './statement-batch';
import { hurry } from './unflushed';

/**
 * A transaction in its scope. It begins with its first statement and its messages go out with its commit, so that it
 * costs the round trips of what is done in it and one.
 */
export class Transaction {
  private readonly messages: OutboxMessage[] = [];
  private readonly conditional: { message: OutboxMessage; condition: Condition }[] = [];
  private readonly inHand: ReceivedMessage[] = [];
  private isForgettable = false;
  private isAlongKeys = false;
  private readonly enqueued = new Set<string>();
  private readonly afterCommit: (() => void)[] = [];
  private readonly promised = new Map<Topic, Set<string>>();
  private readonly counts: ((metrics: Metrics) => void)[] = [];
  private readonly deferred: Statement[] = [];

  constructor(
    readonly scope: Scope,
    /** What all of its statements take for now. */
    readonly now: Date,
    private readonly connection: TransactionConnection,
    /** The key of `TakeTurn` among whose transactions this one runs alone in this process; null if it has none. */
    readonly turn: string | null = null,
  ) {}

  get manager(): EntityManager {
    this.requireOwn();
    // TypeORM speaks to the connection by itself, so what is to be in front goes now. If that fails, so does the rest.
    if (!this.connection.hasBegun || this.deferred.length > 0) void this.send([]).catch(() => undefined);
    return this.connection.entityManager();
  }

  /** The rows that a statement answers. A name makes Postgres keep its plan: for statements of hot paths. */
  async query<T extends object>(sql: string, parameters: unknown[] = [], name?: string): Promise<T[]> {
    return (await this.run({ text: sql, values: parameters, name })).rows as T[];
  }

  /** How many rows a statement touched. Zero is an answer. */
  async execute(sql: string, parameters: unknown[] = [], name?: string): Promise<number> {
    return (await this.run({ text: sql, values: parameters, name })).affected;
  }

  /**
   * A write whose answer nobody needs: it goes out in front of the next statement, or with the commit, and costs no
   * round trip of its own. Should it fail, so does what it goes out with.
   */
  defer(sql: string, parameters: unknown[] = [], name?: string): void {
    this.deferred.push({ text: sql, values: parameters, name });
  }

  /** As `defer`, for a row that a shared transaction writes together with the rows of other callers. */
  deferRow(into: RowWriter, values: unknown[]): void {
    this.deferred.push(rowStatement(into, values));
  }

  /** Call it before work that must not run in a shared transaction: the whole work runs again in its own. */
  requireOwn(): void {
    if (this.connection.isShared) throw new RunAlone();
  }

  /** Promises a message, with this transaction's fate: its row is written with the commit. The same one goes once. */
  enqueue(...messages: QueueMessage[]): Promise<void> {
    const fresh = messages.filter(({ queue, name, payload }) => {
      const key = `${queue} ${name} ${JSON.stringify(payload)}`;
      return !this.enqueued.has(key) && this.enqueued.add(key);
    });
    this.messages.push(...messagesOf(fresh, this.scope === 'system' ? null : this.scope.organizationId));
    return Promise.resolve();
  }

  /** As enqueue, where the condition holds when the transaction commits: it is asked behind all that was done in it. */
  enqueueWhere(condition: Condition, message: QueueMessage): void {
    const [made] = messagesOf([message], this.scope === 'system' ? null : this.scope.organizationId);
    this.conditional.push({ message: made!, condition });
  }

  /** This is what the message asks for: the message leaves the table with this transaction's commit, or stays with it. */
  handles(message: ReceivedMessage): void {
    this.inHand.push(message);
  }

  /**
   * Nobody waits for the disk: a crash may take all of it back. For what whoever finds it undone does again, such as
   * the message that it handles, which comes back with it.
   */
  forgettable(): void {
    this.isForgettable = true;
  }

  /** What follows is of rows whose keys are known; see alongKeys. */
  alongKeys(): void {
    if (!this.isAlongKeys) this.deferred.push(alongKeys);
    this.isAlongKeys = true;
  }

  /** What follows goes along the indexes that have its order; see `unsorted`. */
  unsorted(): void {
    this.deferred.push(unsorted);
  }

  /** Runs once the transaction is durable; for what other processes must not see before. */
  onCommit(work: () => void): void {
    this.afterCommit.push(work);
  }

  /** Says to every process, once the transaction is durable, that there is more to read of the thing. */
  notify(topic: Topic, id: string): void {
    this.promised.set(topic, (this.promised.get(topic) ?? new Set()).add(id));
  }

  /** Counts it once the transaction is durable, so that metrics tell of nothing that did not happen. */
  measure(count: (metrics: Metrics) => void): void {
    this.counts.push(count);
  }

  /** What is to be counted once it is durable. */
  get measures(): readonly ((metrics: Metrics) => void)[] {
    return this.counts;
  }

  /** The ids of the messages that left the table with it. */
  get handled(): string[] {
    return this.inHand.map(({ id }) => id);
  }

  /** What is to be notified of once it is durable. */
  get notifications(): ReadonlyMap<Topic, Set<string>> {
    return this.promised;
  }

  /** Whether the commit has anything to write. */
  get hasWork(): boolean {
    return (
      this.connection.hasBegun ||
      this.deferred.length + this.messages.length + this.conditional.length + this.inHand.length > 0
    );
  }

  /** The statements that precede the commit: what was deferred, and the rows of the messages. */
  takeLastStatements(): Statement[] {
    return [
      ...this.deferred.splice(0),
      ...insertMessages(this.messages),
      ...this.conditional.map(({ message, condition }) => insertWhere(message, condition)),
      ...takeOff(this.inHand),
      ...(this.isForgettable ? [hurry] : []),
    ];
  }

  /** Called after the commit with the answers to `takeLastStatements`. Returns the messages to publish. */
  committed(answers: readonly Answer[]): OutboxMessage[] {
    const end = takeOff(this.inHand).length + (this.isForgettable ? 1 : 0);
    const asked = answers.slice(answers.length - end - this.conditional.length);
    for (const message of this.inHand) message.isSettled = true;
    for (const work of this.afterCommit) work();
    return [
      ...this.messages,
      ...this.conditional.filter((_, at) => asked[at]!.affected > 0).map(({ message }) => message),
    ];
  }

  /** The rows of each, which travel together: where one's answer is not needed to ask the next. */
  async queryAll(statements: Statement[]): Promise<object[][]> {
    return (await this.send(statements)).slice(-statements.length).map(({ rows }) => rows);
  }

  private async run(statement: Statement): Promise<Answer<QueryResultRow>> {
    return (await this.send([statement])).at(-1)!;
  }

  private async send(statements: Statement[]): Promise<Answer[]> {
    try {
      return await this.connection.send([...this.deferred.splice(0), ...statements]);
    } catch (error) {
      // The original stack leads to the socket; the caller's leads to the statement.
      if (error instanceof Error) Error.captureStackTrace(error);
      throw error;
    }
  }
}

function takeOff(messages: ReceivedMessage[]): Statement[] {
  if (messages.length === 0) return [];
  const ids = messages.map(({ id }) => id);
  return ids.length === 1
    ? [{ name: 'outbox_settled', text: 'DELETE FROM outbox WHERE id = $1', values: ids }]
    : [{ name: 'outbox_settled_set', text: 'DELETE FROM outbox WHERE id = ANY($1)', values: [ids] }];
}
