import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { FaultLab } from '../fault-lab';
import { root } from '../service-process';

/** Half to even, as money is rounded. */
const rounded = (amount: string) =>
  `CASE WHEN ${amount} - floor(${amount}) = 0.5 THEN 2 * round(${amount} / 2) ELSE round(${amount}) END`;

/** Milliseconds as a run shows them, times what its machine costs. */
const compute = `(COALESCE(extract(epoch FROM
    date_trunc('milliseconds', j.finished_at) - date_trunc('milliseconds', j.started_at)) * 1000, 0)
  * COALESCE(a.compute_micros_per_hour, s.compute_micros_per_hour)::numeric / 3600000)`;

const recomputed = `SELECT j.id, j.total_cost_micros AS total, ${rounded(compute)} +
    COALESCE((SELECT sum(u.cost_micros) FROM ai_usage u WHERE u.job_id = j.id), 0) AS expected
  FROM job j JOIN agent a ON a.id = j.agent_id JOIN organization_settings s ON s.organization_id = j.organization_id`;

/** What is wrong with the money at the end, worked out anew from what was reported; each is to be nought. */
export function moneyFaults(spoke: string): Record<string, string> {
  return {
    'costs other than recomputed': `SELECT count(*) FROM (${recomputed}) c WHERE total IS DISTINCT FROM expected`,
    'costs other than their components': `SELECT count(*) FROM job j WHERE j.total_cost_micros IS DISTINCT FROM
      (SELECT COALESCE(sum(c.amount_micros), 0) FROM run_cost_component c WHERE c.job_id = j.id)`,
    'spend other than what runs cost': `SELECT count(*) FROM (SELECT 1) one WHERE
      (SELECT COALESCE(sum(spend_micros), 0) FROM usage_counter) IS DISTINCT FROM (SELECT sum(total_cost_micros) FROM job)`,
    'runs that are over and hold some of the limit': 'SELECT count(*) FROM job WHERE reserved_micros > 0',
    'jobs without their summary': `SELECT count(*) FROM job j WHERE ${spoke} AND 1 <> (
      SELECT count(*) FROM pilot_batch b JOIN pilot_claim_result c ON c.pilot_batch_id = b.id
      WHERE b.batch_id = j.id::text AND b.job_id = j.id)`,
    'summaries without their session': `SELECT count(*) FROM pilot_batch b WHERE 1 <> (
      SELECT count(*) FROM process_library_session_summary s WHERE s.pilot_batch_id = b.id)`,
  };
}

/** Whether the returns on investment are read from what the claims say: what an operator asks with the same command. */
export function verifyRollups({ stack }: FaultLab): number {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'dist/tools/rollups/rollups.js'), 'verify'],
    { env: { ...process.env, DATABASE_URL: stack.databaseUrl, REDIS_URL: stack.redisUrl }, encoding: 'utf8' },
  );
  if (status !== 0) process.stdout.write(`rollups verify: ${stdout}${stderr}\n`);
  return status ?? 1;
}
