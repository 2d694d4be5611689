import { type AgentStatus, type MicroUsd, microsToUsd } from '@muster/contracts';
import { type Database, type JobEntity, type PlacedJob, type Transaction } from '@muster/database';
import { Round, sweepRows, type SweepCounts } from '@muster/platform';
import { computeCostSoFar } from '@muster/pricing';
import { failRunAndKillProcesses } from './give-up-run';

/** Stops and fails runs that cost more than their budget. With several replicas, each run fails once. */
export function failRunsOverBudget(
  database: Database,
  { limit = 500 }: { limit?: number } = {},
  round = new Round('stop runs over budget'),
): Promise<SweepCounts<'stopped'>> {
  return sweepRows(round, {
    name: 'over budget',
    outcomes: ['stopped'],
    limit,
    atOnce: 4,
    candidates: (after: { id: string } | null, count) =>
      database.query<Pick<JobEntity, 'id'>>(
        'system',
        `SELECT id FROM job WHERE status = 'running' AND max_cost_micros IS NOT NULL AND ($1::uuid IS NULL OR id > $1)
         ORDER BY id LIMIT $2`,
        [after?.id ?? null, count],
        'budgeted_runs',
      ),
    settle: async ({ id }) => ((await failRunIfOverBudget(database, id)) ? 'stopped' : null),
    rowOf: ({ id }) => `job ${id}`,
  });
}

/** Fails the run if its cost exceeds its budget. Returns whether it did. */
export async function failRunIfOverBudget(database: Database, jobId: string): Promise<boolean> {
  const now = database.now();
  return database.transaction('system', (tx) => failLockedRunIfOverBudget(tx, jobId, now));
}

type Budgeted = Pick<PlacedJob, 'organizationId' | 'agentId'> & { maxCostMicros: MicroUsd; agentStatus: AgentStatus };

/**
 * Computes the run's cost again under the job's lock, because the run may have ended since. Skips a run that another
 * replica processes.
 */
async function failLockedRunIfOverBudget(tx: Transaction, jobId: string, now: Date): Promise<boolean> {
  const [run] = await tx.query<Budgeted>(
    `SELECT j.organization_id, j.agent_id, j.max_cost_micros, a.status AS agent_status
     FROM job j JOIN agent a ON a.id = j.agent_id
     WHERE j.id = $1 AND j.status = 'running' AND j.max_cost_micros IS NOT NULL FOR UPDATE OF j SKIP LOCKED`,
    [jobId],
    'budgeted_run',
  );
  const cost = run ? await computeCostSoFar(tx, jobId) : null;
  if (!run || cost === null || cost <= run.maxCostMicros) return false;
  const { organizationId, agentId, maxCostMicros, agentStatus } = run;
  const { failed = false } = await failRunAndKillProcesses(tx, {
    organizationId,
    jobId,
    agentId,
    agentStatus,
    source: 'watchdog',
    reason: `The run has cost ${microsToUsd(cost)} USD, which is more than its budget of ${microsToUsd(maxCostMicros)} USD.`,
    code: 'budget_exceeded',
    retries: false,
    now,
  });
  return failed;
}
