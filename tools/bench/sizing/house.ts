import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { serviceApps } from '@muster/contracts';
import { Client } from 'pg';
import { Redis } from 'ioredis';
import { type Part, parts } from '../../admin/size/figures';
import type { BenchStack } from '../bench-stack';
import { type BenchTenant, cancelAllRuns, makeBenchTenant, startApp } from '../bench-tenant';
import { Child } from '../child';
import { readProcessTree } from '../read-process-tree';
import { computeMedian } from '../rounds';

/** The resources that the parts have used so far, or use now. */
export interface Usage {
  atMs: number;
  cpuMs: Record<Part, number>;
  memoryBytes: Record<Part, number>;
  /** Private memory of one connection's process. */
  connectionBytes: number;
  connections: number;
  diskBytes: { total: number; timeline: number };
}

/** The six apps as six processes, a worker for all machines, and the servers, each of which can be measured. */
export class SizingHouse {
  private constructor(
    readonly tenant: BenchTenant,
    readonly worker: Child,
    private readonly processes: Map<string, Child>,
    private readonly client: Client,
    private readonly redis: Redis,
    private readonly stack: BenchStack,
  ) {}

  static async open(stack: BenchStack, agents: number): Promise<SizingHouse> {
    const tenant = await makeBenchTenant(stack, agents);
    const worker = await Child.start(join(__dirname, '../job-life/worker.js'), {});
    await cancelAllRuns(stack.databaseUrl, worker.url);
    const client = new Client({ connectionString: stack.databaseUrl });
    await client.connect();
    // The worker needs the id of the agent to report a step.
    await client.query(`UPDATE agent SET public_tunnel_url = $1 || '/' || id, tunnel_url = $1 || '/' || id`, [
      worker.url,
    ]);
    const env = {
      MASTER_KEYS: `bench:${Buffer.alloc(32, 7).toString('base64')}`,
      INTERNAL_PORT: '0',
      // In a phase without heartbeats, no agent may go offline.
      AGENT_OFFLINE_AFTER_MS: String(24 * 3_600_000),
    };
    const processes = new Map<string, Child>();
    for (const app of serviceApps) processes.set(app, await startApp(app, stack, env));
    return new SizingHouse(tenant, worker, processes, client, new Redis(stack.redisUrl), stack);
  }

  getUrl(app: 'gateway' | 'ingest'): string {
    return this.processes.get(app)!.url;
  }

  /** Returns whether no message waits to be handled. */
  async isQuiet(): Promise<boolean> {
    const { rows } = await this.client.query<{ quiet: boolean }>('SELECT NOT EXISTS (SELECT FROM outbox) AS quiet');
    return rows[0]!.quiet;
  }

  async readUsage(): Promise<Usage> {
    const roots = parts.map((part) => this.processes.get(part)?.pid ?? this.getServerPid(part));
    const trees = await Promise.all(roots.map(readProcessTree));
    const sumFieldByPart = (field: 'cpuMs' | 'pssBytes') =>
      Object.fromEntries(
        parts.map((part, at) => [part, trees[at]!.reduce((sum, use) => sum + use[field], 0)]),
      ) as Record<Part, number>;
    const backends = trees[parts.indexOf('postgres')]!.filter(({ command }) => /^postgres: .*\(\d+\)/.test(command));
    const privateBytes = await Promise.all(backends.map(({ pid }) => readPrivateBytes(pid)));
    const connectionBytes = privateBytes.length > 0 ? computeMedian(privateBytes) : 0;
    const memoryBytes = sumFieldByPart('pssBytes');
    memoryBytes.postgres -= privateBytes.reduce((sum, bytes) => sum + bytes, 0);
    memoryBytes.redis = Number(/used_memory:(\d+)/.exec(await this.redis.info('memory'))![1]);
    return {
      atMs: performance.now(),
      cpuMs: sumFieldByPart('cpuMs'),
      memoryBytes,
      connectionBytes,
      connections: backends.length,
      diskBytes: await this.readDisk(),
    };
  }

  async readServerSettings(): Promise<{ version: string; writeAheadLog: number }> {
    const { rows } = await this.client.query<{ version: string; bytes: string }>(
      `SELECT current_setting('server_version') AS version, pg_size_bytes(current_setting('max_wal_size')) AS bytes`,
    );
    return { version: rows[0]!.version, writeAheadLog: Number(rows[0]!.bytes) };
  }

  async close(): Promise<void> {
    this.redis.disconnect();
    await Promise.all([...this.processes.values(), this.worker].map((child) => child.stop()));
    await this.client.end();
  }

  private getServerPid(part: Part): number {
    return part === 'postgres' ? this.stack.postgresPid : this.stack.redisPid;
  }

  private async readDisk(): Promise<Usage['diskBytes']> {
    const { rows } = await this.client.query<{ total: string; timeline: string }>(
      `SELECT pg_database_size(current_database()) AS total,
              (SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits
               WHERE inhparent = 'timeline_entry'::regclass) AS timeline`,
    );
    return { total: Number(rows[0]!.total), timeline: Number(rows[0]!.timeline) };
  }
}

async function readPrivateBytes(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
  return [...text.matchAll(/^Private_\w+:\s+(\d+) kB/gm)].reduce((sum, [, kib]) => sum + Number(kib) * 1024, 0);
}
