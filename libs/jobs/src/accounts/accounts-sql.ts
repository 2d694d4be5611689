/**
 * SQL for the accounts `a` of a pool that a run can get now. `h.held` is the number of runs that have the account, and
 * `ended.at` is the end of the last run that had it. Ordered by `unusedLongestSql`, the most suitable account comes
 * first.
 */
export const freeAccountsSql = (organization: string, pool: string) => `account a
  CROSS JOIN LATERAL (
    SELECT count(*)::int AS held FROM account_use h
    WHERE h.organization_id = a.organization_id AND h.account = a.name AND h.until IS NULL) h
  CROSS JOIN LATERAL (
    SELECT max(e.until) AS at FROM account_use e WHERE e.organization_id = a.organization_id AND e.account = a.name) ended
  WHERE a.organization_id = ${organization} AND a.pool = ${pool} AND a.enabled AND a.set_aside_since IS NULL
    AND h.held < a."limit"
    AND (ended.at IS NULL OR ended.at + a.cooldown_seconds * interval '1 second' <= muster_clock())`;

/**
 * SQL for the order of accounts: accounts that no run uses come first; among these, the account whose last run ended
 * earliest.
 */
export const unusedLongestSql = 'h.held > 0, ended.at NULLS FIRST, a.name';

/** SQL: how many runs can get an account of the pool now. */
export const freeAccountCountSql = (organization: string, pool: string) =>
  `(SELECT COALESCE(sum(a."limit" - h.held), 0)::int FROM ${freeAccountsSql(organization, pool)})`;

/** SQL condition: a pool of the job has no free account. The check reads no account if the job requests none. */
export const waitsForAccountSql = (job: string) => `(${job}.accounts IS NOT NULL AND EXISTS (
  SELECT FROM account_use u WHERE u.job_id = ${job}.id AND u.since IS NULL
    AND NOT EXISTS (SELECT FROM ${freeAccountsSql('u.organization_id', 'u.pool')})))`;

/**
 * SQL over `job j`: the pool that the job waits for, and the runs that have the accounts of this pool, as JSON. Null if
 * the job does not wait for an account.
 */
export const waitingForAccount = `(CASE WHEN j.waiting_reason = 'account_busy' THEN (
  SELECT json_build_object('pool', u.pool, 'holders', ARRAY(
    SELECT h.job_id FROM account_use h
    WHERE h.organization_id = u.organization_id AND h.pool = u.pool AND h.since IS NOT NULL AND h.until IS NULL
    ORDER BY h.since, h.job_id LIMIT 1000))
  FROM account_use u WHERE u.job_id = j.id AND u.since IS NULL
  ORDER BY EXISTS (SELECT FROM ${freeAccountsSql('u.organization_id', 'u.pool')}), u.pool LIMIT 1) END)`;

/**
 * A CTE for statements that insert jobs; it follows their CTE `job` and inserts a waiting row for each pool from which
 * a job requests an account.
 */
export const insertWaitingAccounts = `account_wait AS (
  INSERT INTO account_use (job_id, pool, organization_id, agent_id, priority, queued_at)
  SELECT job.id, r.pool, job.organization_id, job.agent_id, job.priority, job.queued_at
  FROM job CROSS JOIN jsonb_to_recordset(job.accounts) AS r(pool text))`;
