import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { FaultFixture } from '../fault-fixture';
import { root } from '../service-process';

/** SQL that rounds half to even, as the service rounds amounts. */
const buildRoundingSql = (amount: string) =>
  `CASE WHEN ${amount} - floor(${amount}) = 0.5 THEN 2 * round(${amount} / 2) ELSE round(${amount}) END`;

/** SQL of the compute cost: the run's duration in whole milliseconds times the machine's rate. */
const computeCostSql = `(COALESCE(extract(epoch FROM
    date_trunc('milliseconds', j.finished_at) - date_trunc('milliseconds', j.started_at)) * 1000, 0)
  * COALESCE(a.compute_micros_per_hour, s.compute_micros_per_hour)::numeric / 3600000)`;

const recomputed = `SELECT j.id, j.total_cost_micros AS total, ${buildRoundingSql(computeCostSql)} +
    COALESCE((SELECT sum(u.cost_micros) FROM ai_usage u WHERE u.job_id = j.id), 0) AS expected
  FROM job j JOIN agent a ON a.id = j.agent_id JOIN organization_settings s ON s.organization_id = j.organization_id`;

/** Counts of wrong costs, recomputed from the reported data. Each must be 0. */
export function buildMoneyFaultQueries(spoke: string): Record<string, string> {
  return {
    'costs that differ from the recomputed cost': `SELECT count(*) FROM (${recomputed}) c WHERE total IS DISTINCT FROM expected`,
    'costs that differ from their components': `SELECT count(*) FROM job j WHERE j.total_cost_micros IS DISTINCT FROM
      (SELECT COALESCE(sum(c.amount_micros), 0) FROM run_cost_component c WHERE c.job_id = j.id)`,
    'spend that differs from the cost of all runs': `SELECT count(*) FROM (SELECT 1) one WHERE
      (SELECT COALESCE(sum(spend_micros), 0) FROM usage_counter) IS DISTINCT FROM (SELECT sum(total_cost_micros) FROM job)`,
    'finished runs that still reserve budget': 'SELECT count(*) FROM job WHERE reserved_micros > 0',
    'jobs without their summary': `SELECT count(*) FROM job j WHERE ${spoke} AND 1 <> (
      SELECT count(*) FROM pilot_batch b JOIN pilot_claim_result c ON c.pilot_batch_id = b.id
      WHERE b.batch_id = j.id::text AND b.job_id = j.id)`,
    'summaries without their session': `SELECT count(*) FROM pilot_batch b WHERE 1 <> (
      SELECT count(*) FROM process_library_session_summary s WHERE s.pilot_batch_id = b.id)`,
  };
}

/**
 * Runs `rollups verify`, which compares the ROI rollups with the claims. Returns its exit status. It uses the database's
 * address of the services, which this process may forward, so this process does not block meanwhile.
 */
export async function verifyRollups({ env, stack }: FaultFixture): Promise<number> {
  const child = spawn(process.execPath, [join(root, 'dist/tools/rollups/rollups.js'), 'verify'], {
    env: { ...process.env, DATABASE_URL: env['DATABASE_URL'], REDIS_URL: stack.redisUrl },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const [status] = (await once(child, 'close')) as [number | null];
  if (status !== 0) process.stdout.write(`rollups verify: ${output}\n`);
  return status ?? 1;
}
