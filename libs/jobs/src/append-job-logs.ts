import { AppError, type JobLogEntry } from '@muster/contracts';
import type { Database } from '@muster/database';
import type { Reporter } from './apply-job-report';

/**
 * Keeps a batch of log entries, each with a seq once for its job, in one statement. A batch that touches a job that is
 * not the caller's is refused whole.
 */
export async function appendJobLogs(
  database: Database,
  { organizationId, agentId }: Reporter,
  logs: JobLogEntry[],
): Promise<{ accepted: number }> {
  const byJob = new Map<string, JobLogEntry[]>();
  for (const entry of logs) byJob.set(entry.jobId, [...(byJob.get(entry.jobId) ?? []), entry]);
  const jobIds = [...byJob.keys()];
  return database.transaction({ organizationId }, async (tx) => {
    const jobs = await tx.query<{ id: string; agentId: string }>(
      `SELECT id, agent_id AS "agentId" FROM job
       WHERE id = ANY($1) AND organization_id = $2 AND ($3::uuid IS NULL OR agent_id = $3)`,
      [jobIds, organizationId, agentId],
      'jobs_of_logs',
    );
    if (jobs.length < jobIds.length) throw new AppError('not_found', { detail: 'There is no such job.' });
    let accepted = 0;
    // In one order for everybody, so that two batches over the same agents never wait for each other.
    const ordered = [...jobs].sort((one, other) => (one.agentId + one.id < other.agentId + other.id ? -1 : 1));
    for (const { id, agentId: of } of ordered) {
      const entries = byJob.get(id)!;
      const [row] = await tx.query<{ kept: number }>(
        keepLogs,
        [
          id,
          of,
          organizationId,
          entries.map(({ seq }) => seq ?? null),
          entries.map(({ level }) => level),
          entries.map(({ message }) => message),
          entries.map(({ timestamp }) => timestamp),
        ],
        'keep_logs',
      );
      accepted += row?.kept ?? 0;
      tx.tell('timeline', of);
    }
    return { accepted };
  });
}

const keepLogs = `
  WITH given AS (
    SELECT DISTINCT ON (COALESCE(e.seq, -e.n)) e.seq, e.level, e.message, e.at, e.n
    FROM unnest($4::bigint[], $5::text[], $6::text[], $7::float8[]) WITH ORDINALITY AS e (seq, level, message, at, n)
    ORDER BY COALESCE(e.seq, -e.n), e.n),
  seen AS (
    SELECT seqs FROM job_log_seen WHERE job_id = $1 FOR UPDATE),
  fresh AS (
    SELECT given.*, row_number() OVER (ORDER BY given.n) AS place FROM given, seen
    WHERE given.seq IS NULL OR NOT seen.seqs @> given.seq),
  noted AS (
    UPDATE job_log_seen s
    SET seqs = s.seqs + (SELECT range_agg(int8range(seq, seq, '[]')) FROM fresh WHERE seq IS NOT NULL)
    WHERE s.job_id = $1 AND EXISTS (SELECT FROM fresh WHERE seq IS NOT NULL)),
  head AS (
    INSERT INTO timeline_head AS h (agent_id, organization_id, last_seq)
    SELECT $2, $3, count(*) FROM fresh HAVING count(*) > 0
    ON CONFLICT (agent_id) DO UPDATE SET last_seq = h.last_seq + excluded.last_seq
    RETURNING last_seq),
  kept AS (
    INSERT INTO timeline_entry (agent_id, seq, organization_id, kind, level, message, source, job_id, log_seq, at)
    SELECT $2, head.last_seq - (SELECT count(*) FROM fresh) + fresh.place, $3, 'execution', fresh.level,
           fresh.message, 'worker', $1, fresh.seq, to_timestamp(fresh.at)
    FROM fresh, head
    RETURNING 1),
  alive AS (
    -- Whoever holds the agent may be waiting for the timeline that is held here; the next batch will do.
    UPDATE agent SET last_activity_at = now() WHERE id IN (
      SELECT id FROM agent WHERE id = $2
        AND COALESCE(last_activity_at, '-infinity') < now() - interval '5 seconds' FOR UPDATE SKIP LOCKED))
  SELECT count(*)::int AS kept FROM kept`;
