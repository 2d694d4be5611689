import { AppError, type FailureCauses, type FailureQuery } from '@muster/contracts';
import type { Database } from '@muster/database';
import { smallestIdAt } from '@muster/platform';

/** Maximum number of failed runs that one response covers; the latest runs are used. */
const maxRuns = 5_000;
/** Maximum number of causes in one response. */
const maxCauses = 50;
const dayMs = 24 * 60 * 60_000;
/** Maximum assumed milliseconds between the queueing and the end of a run. It limits the range of ids that are read. */
const maxRunMs = 7 * dayMs;
const maxMessageLength = 500;

/** SQL: the first line of a run's error, or the error code if there is no message. */
function failureMessageSql(error: string, code: string): string {
  return `left(COALESCE(split_part(${error}, E'\\n', 1), ${code}, ''), ${maxMessageLength})`;
}

/**
 * SQL: a key that is equal for runs that failed for the same reason. Words with a digit (numbers, ids, times) are
 * ignored.
 */
export function failureCauseSql(error: string, code: string): string {
  const withoutNumbers = `regexp_replace(${failureMessageSql(error, code)}, '[[:alnum:]_.:+/-]*[0-9][[:alnum:]_.:+/-]*', '#', 'g')`;
  return `left(md5(COALESCE(${code}, '') || ' ' || ${withoutNumbers}), 16)`;
}

interface CauseRow {
  cause: string;
  message: string;
  errorCode: string | null;
  runs: number;
  agents: number;
  workflowId: string | null;
  workflowName: string | null;
  firstAt: Date;
  lastAt: Date;
  lastJobId: string;
  covered: number;
}

/** Groups failed runs by their cause, the most recent cause first. */
export async function groupFailures(
  database: Database,
  organizationId: string,
  { from, to, workflowId, agentId, now }: FailureQuery & { now: Date },
): Promise<FailureCauses> {
  const since = from ? new Date(from) : new Date((to ? Date.parse(to) : now.getTime()) - dayMs);
  if (to && Date.parse(to) <= since.getTime()) {
    throw new AppError('invalid_payload', {
      errors: [{ field: 'to', message: 'The time in `to` must be after the time in `from`.' }],
    });
  }
  const rows = await database.query<CauseRow>(
    { organizationId },
    `WITH failed AS (
       SELECT j.id, j.workflow_id, j.agent_id, j.error_code, COALESCE(j.finished_at, j.queued_at) AS at,
              ${failureMessageSql('j.error', 'j.error_code')} AS message, ${failureCauseSql('j.error', 'j.error_code')} AS cause
       FROM job j
       WHERE j.organization_id = $1 AND j.status = 'failed' AND j.id >= $2
         AND COALESCE(j.finished_at, j.queued_at) >= $3
         AND ($4::timestamptz IS NULL OR COALESCE(j.finished_at, j.queued_at) < $4) AND ($5::uuid IS NULL OR j.workflow_id = $5)
         AND ($6::uuid IS NULL OR j.agent_id = $6)
       ORDER BY j.id DESC LIMIT ${maxRuns}
     ), grouped AS (
       SELECT cause, (array_agg(message ORDER BY at DESC))[1] AS message, min(error_code) AS error_code,
              count(*)::int AS runs, count(DISTINCT agent_id)::int AS agents,
              CASE WHEN min(workflow_id::text) = max(workflow_id::text) THEN min(workflow_id::text)::uuid END AS workflow_id,
              min(at) AS first_at, max(at) AS last_at, (array_agg(id ORDER BY at DESC))[1] AS last_job_id
       FROM failed GROUP BY cause ORDER BY last_at DESC LIMIT ${maxCauses}
     )
     SELECT g.*, w.name AS workflow_name, (SELECT count(*)::int FROM failed) AS covered
     FROM grouped g LEFT JOIN workflow w ON w.id = g.workflow_id ORDER BY g.last_at DESC`,
    [
      organizationId,
      smallestIdAt(new Date(since.getTime() - maxRunMs)),
      since,
      to ?? null,
      workflowId ?? null,
      agentId ?? null,
    ],
    'group_failures',
  );
  return {
    causes: rows.map(({ covered: _, firstAt, lastAt, ...row }) => ({
      ...row,
      firstAt: firstAt.toISOString(),
      lastAt: lastAt.toISOString(),
    })),
    complete: (rows[0]?.covered ?? 0) < maxRuns,
  };
}
