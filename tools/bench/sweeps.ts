import { idleCandidates, buildIdleCandidateValues, silentAgentsSql } from '@muster/machines';
import { staleRunsSql, untouchedJobsSql } from '@muster/jobs';
import { Client } from 'pg';
import { type BenchStack, runOnBenchStack } from './bench-stack';
import { formatMilliseconds } from './print-report';
import { computeMedian } from './rounds';
import { chooseSize } from './short';

// The queries of the idle monitor and of the job watchdog, over a fleet and over one ten times as large: the plan, the
// time and its growth.

const small = { agents: chooseSize(10_000, 1000), jobs: chooseSize(100_000, 1000) };
const large = { agents: 10 * small.agents, jobs: 10 * small.jobs };
const rounds = chooseSize(7, 1);
const limit = 500;

interface Measured {
  ms: number;
  rows: number;
  buffers: number;
  scans: string[];
}

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: PlanNode[];
}

const lostAfterMs = 900_000;
const stalledAfterMs = 3_600_000;
const offlineAfterMs = 90_000;
const first = ['-infinity', '00000000-0000-0000-0000-000000000000'];
const sweeps: [name: string, sql: string, values: () => unknown[]][] = [
  ['idle agents', idleCandidates, () => buildIdleCandidateValues(new Date(), limit)],
  ['stale runs', staleRunsSql, () => [...first, new Date(), lostAfterMs, stalledAfterMs, limit]],
  ['silent agents', silentAgentsSql, () => [offlineAfterMs, first[1], limit]],
  ['untouched jobs', untouchedJobsSql, () => [...first, new Date(), lostAfterMs, limit]],
];

void runOnBenchStack(async ({ databaseUrl }: BenchStack) => {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const measured: Record<string, Measured>[] = [];
    let made = { agents: 0, jobs: 0 };
    for (const size of [small, large]) {
      await growDatabase(client, made, size);
      made = size;
      const row: Record<string, Measured> = {};
      for (const [name, sql, values] of sweeps) row[name] = await measureStatement(client, sql, values);
      measured.push(row);
    }
    const [before, after] = measured;
    console.log(
      `sweeps: ${describeSize(small)}, then ${describeSize(large)}; batches of ${limit}, median of ${rounds} rounds`,
    );
    for (const [name] of sweeps) {
      const [one, other] = [before![name]!, after![name]!];
      const growth = `${(other.ms / one.ms).toFixed(1)} times`;
      console.log(
        `  ${name.padEnd(16)}${formatMilliseconds(one.ms).padStart(12)}${formatMilliseconds(other.ms).padStart(12)}${growth.padStart(12)}` +
          `   ${one.rows} and ${other.rows} found, ${one.buffers} and ${other.buffers} pages read`,
      );
      console.log(`  ${''.padEnd(16)}${other.scans.join(', ')}`);
    }
    console.log('');
  } finally {
    await client.end();
  }
});

function describeSize({ agents, jobs }: typeof small): string {
  return `${agents.toLocaleString('en')} agents and ${jobs.toLocaleString('en')} jobs`;
}

/**
 * Creates a fleet on a working day, over 100 organizations. Of 100 agents, 60 are off and 5 run a job; 1 in 500 is idle
 * past its limit. All jobs are finished except the running ones and one queued job in 200. A hundred runs are past
 * their limit.
 */
async function growDatabase(client: Client, from: typeof small, to: typeof small): Promise<void> {
  await client.query(`
    INSERT INTO organization (id, name) SELECT md5('o' || n)::uuid, 'Organization ' || n FROM generate_series(0, 99) n
    ON CONFLICT DO NOTHING`);
  await client.query(`
    INSERT INTO organization_settings (organization_id) SELECT id FROM organization ON CONFLICT DO NOTHING`);
  await client.query(`
    INSERT INTO workflow (id, organization_id, name) SELECT id, id, 'Bench' FROM organization ON CONFLICT DO NOTHING`);
  await client.query(
    `INSERT INTO agent (id, organization_id, name, status, provider, boot_id, last_seen, status_since, last_activity_at,
                        current_job_id, dispatched_at)
     SELECT md5('a' || n)::uuid, md5('o' || n % 100)::uuid, 'Agent ' || n,
            CASE WHEN n % 100 < 60 THEN 'stopped' ELSE 'online' END, 'ec2', 'boot', now(), now() - interval '1 day',
            now() - CASE WHEN n % 500 = 60 THEN interval '40 minutes' ELSE (n % 1500) * interval '1 second' END,
            CASE WHEN n % 100 >= 95 THEN md5('r' || n)::uuid END, CASE WHEN n % 100 >= 95 THEN now() - interval '1 hour' END
     FROM generate_series($1::int, $2::int - 1) n`,
    [from.agents, to.agents],
  );
  await client.query(
    `INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, status, queued_at, started_at,
                      finished_at, billed_at, last_heartbeat_at, last_progress_at)
     SELECT gen_random_uuid(), md5('o' || a % 100)::uuid, md5('o' || a % 100)::uuid, 1, md5('a' || a)::uuid,
            CASE WHEN n % 200 = 0 THEN 'queued' ELSE 'completed' END, now() - n * interval '1 second',
            now() - n * interval '1 second', now(), now(), now(), now()
     FROM generate_series($1::int, $2::int - 1) n CROSS JOIN LATERAL (SELECT n % $3::int AS a) of`,
    [from.jobs, to.jobs, to.agents],
  );
  await client.query(
    `INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, status, started_at,
                      last_heartbeat_at, last_progress_at, command_id)
     SELECT md5('r' || n)::uuid, md5('o' || n % 100)::uuid, md5('o' || n % 100)::uuid, 1, md5('a' || n)::uuid, 'running',
            now() - CASE WHEN n < $1::int + 2000 AND n % 100 = 95 THEN interval '13 hours' ELSE interval '1 hour' END,
            now(), now(), gen_random_uuid()
     FROM generate_series($1::int, $2::int - 1) n WHERE n % 100 >= 95`,
    [from.agents, to.agents],
  );
  await client.query(
    `INSERT INTO agent_command (id, organization_id, agent_id, job_id, kind, payload, deadline, taken_at, status,
                                next_push_at)
     SELECT command_id, organization_id, agent_id, id, 'run', '{}', now() + interval '30 days', now(), 'pending', NULL
     FROM job WHERE status = 'running' ON CONFLICT DO NOTHING`,
  );
  await client.query(
    `INSERT INTO agent_command (id, organization_id, agent_id, kind, payload, deadline, taken_at, finished_at, status,
                                next_push_at)
     SELECT gen_random_uuid(), organization_id, id, 'snippet', '{}', now(), now(), now(), 'success', NULL FROM agent`,
  );
  for (const table of ['agent', 'job', 'agent_command']) await client.query(`VACUUM (ANALYZE) ${table}`);
}

/** Runs a statement in the role and under the policies that the service has. */
async function measureStatement(client: Client, sql: string, values: () => unknown[]): Promise<Measured> {
  const times: number[] = [];
  let plan: PlanNode | undefined;
  for (let round = 0; round < rounds; round += 1) {
    await client.query('BEGIN');
    await client.query('SET LOCAL ROLE muster_system');
    const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${sql}`, values());
    await client.query('ROLLBACK');
    const [{ Plan, 'Execution Time': ms }] = rows[0]['QUERY PLAN'];
    times.push(ms);
    plan = Plan;
  }
  const scans = new Set<string>();
  collectScans(plan!, scans);
  const buffers = plan!['Shared Hit Blocks'] + plan!['Shared Read Blocks'];
  return { ms: computeMedian(times), rows: plan!['Actual Rows'], buffers, scans: [...scans] };
}

function collectScans(node: PlanNode, into: Set<string>): void {
  const { 'Node Type': type, 'Relation Name': relation, 'Index Name': index, Plans = [] } = node;
  if (index) into.add(`${type} ${index}`);
  else if (relation) into.add(`${type} ${relation}`);
  for (const child of Plans) collectScans(child, into);
}
