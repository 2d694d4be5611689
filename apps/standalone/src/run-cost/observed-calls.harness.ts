import { Redis } from 'ioredis';
import { Client } from 'pg';

interface Statement {
  text: string;
  name?: string;
  values?: readonly unknown[];
}

interface Answer {
  rows: Record<string, unknown>[];
  command: string;
}

/** Statements that the service sends in one round trip, as it passes them to pg's client. */
interface Batch {
  statements: readonly Statement[];
  callback: (error: Error | null, answers: Answer[]) => void;
  role: string;
}

/** A transaction as Postgres executed it. */
export interface ObservedTransaction {
  /** Names of the transaction's statements, without those that begin, scope and commit it. */
  statements: string[];
  roundTrips: number;
  /** Whether the commit waited for the disk: something was written, and synchronous_commit was on. */
  isFlushed: boolean;
}

/** Statements that begin and end a transaction, set its scope, or let its commit return before the WAL flush. */
const frame = new Set([
  'muster_begin',
  'muster_set_scope',
  'muster_set_scope_of_set',
  'muster_commit_unflushed',
  'muster_commit',
]);
const probe: Statement = {
  name: 'run_cost_probe',
  text: `SELECT pg_current_xact_id_if_assigned() IS NOT NULL AND current_setting('synchronous_commit') = 'on' AS waits`,
};

/**
 * Records all calls of this process to Postgres and Redis between `start` and `end`. Right before the end of each
 * transaction, a probe queries Postgres whether the transaction has written anything and its commit waits for the disk.
 */
export class ObservedCalls {
  readonly transactions: ObservedTransaction[] = [];
  readonly redis: string[] = [];
  private readonly open = new Map<object, ObservedTransaction>();
  private readonly spies: jest.SpyInstance[] = [];

  start(): void {
    const { query } = Client.prototype;
    const observeClient = (client: Client, args: unknown[]) => this.observeStatement(client, args, query as never);
    this.spies.push(
      jest.spyOn(Client.prototype, 'query').mockImplementation(function (this: Client, ...args: unknown[]) {
        return observeClient(this, args);
      } as never),
    );
    const { sendCommand } = Redis.prototype;
    const countCall = (name: string) => this.redis.push(name);
    this.spies.push(
      jest.spyOn(Redis.prototype, 'sendCommand').mockImplementation(function (this: Redis, ...args: unknown[]) {
        countCall(formatCommandName(this, args[0] as Command));
        return sendCommand.apply(this, args as never) as never;
      } as never),
    );
  }

  end(): void {
    for (const spy of this.spies) spy.mockRestore();
  }

  private observeStatement(client: Client, args: unknown[], query: (...args: unknown[]) => unknown): unknown {
    const batch = args[0] as Batch;
    if (!Array.isArray(batch.statements)) {
      // This is a query of TypeORM or of a test, which is not counted.
      return query.apply(client, args);
    }
    const { statements } = batch;
    const names = statements.map(({ name, text }) => name ?? text.trim().replaceAll(/\s+/g, ' ').slice(0, 40));
    const existing = this.open.get(client);
    const transaction = existing ?? { statements: [], roundTrips: 0, isFlushed: false };
    transaction.roundTrips += 1;
    transaction.statements.push(...names.filter((name) => !frame.has(name)));
    const isBegun = existing !== undefined || names[0] === 'muster_begin';
    const isOver = !isBegun || ['muster_commit', 'ROLLBACK'].includes(names.at(-1)!);
    if (!isOver) {
      this.open.set(client, transaction);
      return query.apply(client, args);
    }
    this.open.delete(client);
    const at = isBegun ? statements.length - 1 : statements.length;
    const probed = [...statements.slice(0, at), probe, ...statements.slice(at)];
    const Probed = batch.constructor as new (
      statements: Statement[],
      callback: Batch['callback'],
      role: string,
    ) => Batch;
    const probedBatch = new Probed(
      probed,
      (error, answers) => {
        transaction.isFlushed = answers[at]!.rows[0]?.['waits'] === true;
        this.transactions.push(transaction);
        batch.callback(error, [...answers.slice(0, at), ...answers.slice(at + 1)]);
      },
      batch.role,
    );
    return query.call(client, probedBatch);
  }
}

interface Command {
  name: string;
  args: unknown[];
}

/** Returns the name of a Redis command; for a call of a Lua script, that of the script, which names BullMQ's operation. */
function formatCommandName(redis: Redis, { name, args }: Command): string {
  if (name !== 'evalsha' && name !== 'eval') return name;
  const { scriptsSet } = redis as unknown as { scriptsSet: Record<string, { sha: string; lua: string }> };
  const [script] = Object.entries(scriptsSet).find(([, { sha, lua }]) => sha === args[0] || lua === args[0]) ?? [name];
  return script!.split(':')[0]!;
}
