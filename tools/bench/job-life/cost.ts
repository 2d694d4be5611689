import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { BenchStack } from '../bench-stack';
import { readProcessTree } from '../read-process-tree';
import { chooseSize } from '../short';
import type { Subject } from './subjects';

/** Processor time in milliseconds. */
export interface Cpu {
  node: number;
  postgres: number;
  redis: number;
}

/** Increase of the database's counters for each execution. */
export interface Written {
  /** Transactions that wrote something. */
  commits: number;
  /** All transactions, including those that only read. */
  transactions: number;
  flushes: number;
}

// A connection publishes its counters after it has been idle for ten seconds.
const countersDelayMs = chooseSize(11_000, 300);

export class Costs {
  private constructor(
    private readonly client: Client,
    private readonly servers: { postgres: number; redis: number },
  ) {}

  static async open({ databaseUrl, postgresPid, redisPid }: BenchStack): Promise<Costs> {
    const client = new Client({ connectionString: databaseUrl });
    await client.connect();
    return new Costs(client, { postgres: postgresPid, redis: redisPid });
  }

  close(): Promise<void> {
    return this.client.end();
  }

  async readCpu({ processes }: Subject): Promise<Cpu> {
    const sumCpuOfPids = async (pids: number[]) => {
      const uses = (await Promise.all(pids.map(readProcessTree))).flat();
      return uses.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
    };
    const { postgres, redis } = this.servers;
    const [node, inPostgres, inRedis] = await Promise.all([
      sumCpuOfPids(processes.map(({ pid }) => pid)),
      sumCpuOfPids([postgres]),
      sumCpuOfPids([redis]),
    ]);
    return { node: node!, postgres: inPostgres!, redis: inRedis! };
  }

  /** Counters per execution, without those of the subject's background work. */
  async measureWritten(subject: Subject, executions: number, work: () => Promise<unknown>): Promise<Written> {
    await delay(countersDelayMs);
    const first = await this.readCounters(subject);
    await delay(countersDelayMs);
    const second = await this.readCounters(subject);
    await work();
    await delay(countersDelayMs);
    const third = await this.readCounters(subject);
    const idlePart = (third.atMs - second.atMs) / (second.atMs - first.atMs);
    const computePerExecution = (counter: keyof Written) => {
      const idle = (second[counter] - first[counter]) * idlePart;
      return Math.max(0, third[counter] - second[counter] - idle) / executions;
    };
    return {
      commits: computePerExecution('commits'),
      transactions: computePerExecution('transactions'),
      flushes: computePerExecution('flushes'),
    };
  }

  private async readCounters({ database }: Subject): Promise<Written & { atMs: number }> {
    const queryOne = async (text: string, values: unknown[] = []) =>
      Number((await this.client.query<{ count: string }>(text, values)).rows[0]!.count);
    return {
      // Each transaction that writes takes the next transaction id.
      commits: await queryOne('SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS count'),
      transactions: await queryOne('SELECT xact_commit AS count FROM pg_stat_database WHERE datname = $1', [database]),
      flushes: await queryOne(
        (await this.checkFlushesAreIo()) ? flushesOfIo : 'SELECT wal_sync AS count FROM pg_stat_wal',
      ),
      atMs: performance.now(),
    };
  }

  /** Returns whether pg_stat_io counts the flushes, as it does since Postgres 18. */
  private async checkFlushesAreIo(): Promise<boolean> {
    const { rows } = await this.client.query<{ number: number }>(
      `SELECT current_setting('server_version_num')::int AS number`,
    );
    return rows[0]!.number >= 180_000;
  }
}

const flushesOfIo = `SELECT sum(fsyncs) AS count FROM pg_stat_io WHERE object = 'wal' AND context = 'normal'`;
