import type { AgentCommand } from '@muster/contracts';
import {
  cloneDatabase,
  type ClonedDatabase,
  FakeWorker,
  type Harness,
  isLongRun,
  makeAgent,
  makeWorkflow,
  startHarness,
  type Tenant,
  waitFor,
} from '@muster/testing';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { standalone } from '../standalone';
import { ObservedCalls, type ObservedTransaction } from './observed-calls.harness';

jest.setTimeout(120_000);

const runs = 50;
const poolSize = 2;

describe('a run, from its launch to its cost', () => {
  const calls = new ObservedCalls();
  let database: ClonedDatabase;
  let harness: Harness;
  let tenant: Tenant;
  let worker: FakeWorker;
  let ids: { workflowId: string; agentId: string };
  /** A separate connection, so that the queries of the test are not counted. */
  let own: Client;

  beforeAll(async () => {
    database = await cloneDatabase();
    own = new Client({ connectionString: database.url });
    await own.connect();
    // The tests' Postgres does not wait for the disk by default. This setting shows which commits would wait.
    await own.query(`ALTER DATABASE ${database.name} SET synchronous_commit = on`);
    harness = await startHarness({
      ...standalone,
      database,
      // The gauges of /metrics are read from all rows at intervals, not with each run.
      env: {
        OUTBOUND_ALLOW: '127.0.0.1',
        DATABASE_POOL_SIZE: String(poolSize),
        MEASURE_TICK_MS: '3600000',
        PLACEMENT_SWEEP_MS: '60000',
      },
    });
    tenant = await harness.makeTenant();
    const { organizationId } = tenant;
    worker = await FakeWorker.startForOrganization(organizationId);
    const { id: workflowId } = await makeWorkflow(harness.db, { organizationId });
    const { id: agentId } = await makeAgent(harness.db, { organizationId, status: 'online' });
    ids = { workflowId, agentId };
    await own.query(`UPDATE agent SET last_seen = now(), tunnel_url = $2, seen_from = '127.0.0.1' WHERE id = $1`, [
      agentId,
      worker.url,
    ]);
    for (let run = 0; run < 5; run += 1) await runOnce();
  });
  afterAll(async () => {
    await harness.close();
    await worker.stop();
    await own.end();
    await database.drop();
  });

  async function runOnce(): Promise<void> {
    const pushed = new Promise<AgentCommand>((resolve) => {
      worker.answer = (command) => {
        resolve(command);
        return 202;
      };
    });
    const { body } = await tenant.api.post('/api/jobs/launch', ids);
    const { jobId } = await pushed;
    expect(jobId).toBe(body.jobId);
    await reportStatus(jobId!, 'running');
    await reportStatus(jobId!, 'completed');
    await waitFor('the cost of the run', async () => {
      const { rows } = await own.query('SELECT FROM run_cost WHERE job_id = $1', [jobId]);
      return rows.length === 1;
    });
    const read = await tenant.api.get(`/api/jobs/${jobId}`);
    expect(read.body).toMatchObject({ status: 'completed' });
  }

  async function reportStatus(jobId: string, status: string): Promise<void> {
    const { body } = await tenant.worker.post('/api/job-webhook', { jobId, status });
    expect(body).toEqual({ accepted: true, status });
  }

  it('a run executes only the statements and Redis commands of the tables in libs/jobs/README.md', async () => {
    const table = await readCostTable();
    calls.start();
    for (let run = 0; run < runs; run += 1) await runOnce();
    // Waits for writes that are deferred after the end of a run.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    calls.end();
    // The service's loops send statements too, but so few per run that rounding removes them.
    const computePerRun = (count: number) => Math.round(count / runs);
    const transactions = [...countByName(calls.transactions.map(describeTransaction))].filter(
      ([, count]) => computePerRun(count) > 0,
    );
    expect(Object.fromEntries(transactions.map(([description, count]) => [description, computePerRun(count)]))).toEqual(
      Object.fromEntries(table.transactions.map((description) => [description, 1])),
    );
    expect(transactions.filter(([description]) => description.includes('waits for the disk'))).toHaveLength(4);
    const redis = [...countByName(calls.redis)].map(([name, count]) => [name, computePerRun(count)] as const);
    for (const [name, count] of redis) expect([name, count <= (table.redis[name] ?? 0)]).toEqual([name, true]);
    expect(
      redis
        .filter(([, count]) => count > 0)
        .map(([name]) => name)
        .sort(),
    ).toEqual(Object.keys(table.redis).sort());
  });

  it('a run uses statements whose plans Postgres caches', async () => {
    const names = new Set(
      (await readCostTable()).transactions.flatMap((description) => description.match(/\b[a-z]\w*_\w+\b/g) ?? []),
    );
    for (let run = 0; run < runs; run += 1) await runOnce();
    const connections = await Promise.all(
      Array.from({ length: poolSize }, () =>
        harness.db.query<{ name: string; customPlans: number; calls: number }>(
          'system',
          `SELECT replace(name, '@system', '') AS name, custom_plans, custom_plans + generic_plans AS calls FROM pg_prepared_statements, pg_sleep(0.1)`,
        ),
      ),
    );
    const used = connections.flat().filter(({ name, calls: times }) => names.has(name) && times > 10);
    expect(new Set(used.map(({ name }) => name)).size).toBeGreaterThan(names.size / 2);
    // Postgres plans the first five executions with their values. After that, it uses a cached plan if that is as good.
    expect(used.filter(({ customPlans }) => customPlans > 5)).toEqual([]);
  });

  // Runs only in the long form, because on a busy machine the service's loops read too many rows of these tables.
  (isLongRun() ? it : it.skip)(
    'a run reads only its own rows in an organization with many jobs, before Postgres has statistics of them',
    async () => {
      const before = 2000;
      await own.query(
        `INSERT INTO job SELECT (jsonb_populate_record(j, jsonb_build_object('id', gen_random_uuid()))).*
       FROM job j, generate_series(1, ${before})
       WHERE j.id = (SELECT id FROM job WHERE status = 'completed' LIMIT 1)`,
      );
      const countRowsRead = async () => {
        const { rows } = await own.query<{ read: string }>(
          `SELECT sum(seq_tup_read + COALESCE(idx_tup_fetch, 0)) AS read FROM pg_stat_user_tables
         WHERE relname IN ('job', 'agent_command')`,
        );
        return Number(rows[0]!.read);
      };
      const flushStatistics = async () => {
        // A connection reports its reads with the next statement, at least a second later.
        await new Promise((resolve) => setTimeout(resolve, 1200));
        await runOnce();
      };
      await flushStatistics();
      const start = await countRowsRead();
      for (let run = 0; run < runs; run += 1) await runOnce();
      await flushStatistics();
      const read = await countRowsRead();
      expect(read).toBeGreaterThan(start);
      // Loops scan the tables a few times. A statement that scanned them in each run would read all rows every time.
      expect((read - start) / (runs + 1)).toBeLessThan(before / 4);
    },
  );
});

function countByName(names: string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

function describeTransaction({ statements, roundTrips, isFlushed }: ObservedTransaction): string {
  return [statements.join(' '), `${roundTrips} trips`, ...(isFlushed ? ['waits for the disk'] : [])].join(', ');
}

/** Reads the two tables of libs/jobs/README.md. */
async function readCostTable(): Promise<{ transactions: string[]; redis: Record<string, number> }> {
  const text = await readFile(join(process.cwd(), 'libs/jobs/README.md'), 'utf8');
  const rows = text
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  const transactions = rows
    .filter(({ length }) => length === 8)
    .slice(2)
    .map(([, , , trips, disk, statements]) => ({
      roundTrips: Number(trips),
      isFlushed: disk === 'yes',
      statements: [...statements!.matchAll(/`(\w+)`/g)].map(([, name]) => name!),
    }));
  const redis = rows.filter(({ length }) => length === 5).slice(2);
  return {
    transactions: transactions.map(describeTransaction),
    redis: Object.fromEntries(redis.map(([, name, max]) => [name, Number(max)])),
  };
}
