import { recordWorkSql } from '@muster/machines';
import { appendLinesSql } from '@muster/timeline';
import { type JobLogEntry, notFoundError } from '@muster/contracts';
import type { Database, PlacedJob } from '@muster/database';
import { findDeletedJobs, type JobIsOver, jobIsOver, answerForDeletedJob } from './deleted-job';
import type { Reporter } from './reporter';

/**
 * Stores log lines with one statement per job. A line with a seq is stored once for its job. The whole request is
 * rejected if one of the jobs does not belong to the caller.
 */
export async function appendJobLogs(
  database: Database,
  { organizationId, agentId }: Reporter,
  logs: JobLogEntry[],
): Promise<{ accepted: number } | JobIsOver> {
  const byJob = new Map<string, JobLogEntry[]>();
  for (const entry of logs) {
    const entries = byJob.get(entry.jobId);
    if (entries) entries.push(entry);
    else byJob.set(entry.jobId, [entry]);
  }
  const batches = [...byJob].map(([jobId, entries]) =>
    buildLogStatementParameters({ organizationId, agentId }, jobId, entries),
  );
  const [first, ...others] = batches;
  // Workers normally send the lines of one job per request. Then one statement in one round trip stores them.
  if (others.length === 0) {
    const [stored] = await database.query<StoredLogs>({ organizationId }, storeLogs, first, 'store_logs');
    if (!stored) return answerForDeletedJob(database, { organizationId, agentId }, first![0] as string);
    if (stored.count > 0) database.notify('timeline', stored.agentId);
    return { accepted: stored.count };
  }
  return database.transaction({ organizationId }, async (tx) => {
    let accepted = 0;
    const deleted = new Set(await findDeletedJobs(database, { organizationId, agentId }, [...byJob.keys()]));
    if (deleted.size === batches.length) return jobIsOver;
    // All requests write in the order of job ids. They can still lock agents in different orders; a transaction that
    // deadlocks is retried.
    for (const values of batches.sort(([one], [other]) => ((one as string) < (other as string) ? -1 : 1))) {
      const [stored] = await tx.query<StoredLogs>(storeLogs, values, 'store_logs');
      // A concurrent deletion of a job makes this request fail. When the worker repeats the request, the deletion is
      // committed, and the response states that the job was deleted.
      if (!stored && deleted.has(values[0] as string)) continue;
      if (!stored) throw notFoundError('job');
      accepted += stored.count;
      tx.notify('timeline', stored.agentId);
    }
    return { accepted };
  });
}

interface StoredLogs extends Pick<PlacedJob, 'agentId'> {
  count: number;
}

function buildLogStatementParameters(
  { organizationId, agentId }: Reporter,
  jobId: string,
  entries: JobLogEntry[],
): unknown[] {
  return [
    jobId,
    organizationId,
    agentId,
    entries.map(({ seq }) => seq ?? null),
    entries.map(({ level }) => level),
    entries.map(({ message }) => message),
    entries.map(({ timestamp }) => timestamp),
  ];
}

const storeLogs = `
  WITH target_job AS (
    SELECT id, agent_id FROM job WHERE id = $1 AND organization_id = $2 AND ($3::uuid IS NULL OR agent_id = $3)),
  seen_seqs AS (
    SELECT s.seqs, target_job.agent_id
    FROM job_log_seen s JOIN target_job ON target_job.id = s.job_id FOR UPDATE OF s),
  batch_entries AS (
    SELECT DISTINCT ON (COALESCE(e.seq, -e.n)) e.seq, e.level, e.message, e.at, e.n
    FROM unnest($4::bigint[], $5::text[], $6::text[], $7::float8[]) WITH ORDINALITY AS e (seq, level, message, at, n)
    ORDER BY COALESCE(e.seq, -e.n), e.n),
  new_entries AS MATERIALIZED (
    SELECT batch_entries.*, seen_seqs.agent_id, row_number() OVER (ORDER BY batch_entries.n) AS place
    FROM batch_entries, seen_seqs
    WHERE batch_entries.seq IS NULL OR NOT seen_seqs.seqs @> batch_entries.seq),
  entry_count AS (
    SELECT count(*) AS count FROM new_entries),
  mark_seen AS (
    UPDATE job_log_seen s
    SET seqs = s.seqs + (SELECT range_agg(int8range(seq, seq, '[]')) FROM new_entries WHERE seq IS NOT NULL)
    WHERE s.job_id = $1 AND EXISTS (SELECT FROM new_entries WHERE seq IS NOT NULL)),
  ${appendLinesSql({ lines: 'new_entries', agent: 'seen_seqs', count: 'entry_count', jobId: '$1', organizationId: '$2' })},
  touch_agent AS (
    ${recordWorkSql('SELECT agent_id FROM target_job', 'a job’s log')})
  SELECT seen_seqs.agent_id, entry_count.count::int AS count FROM seen_seqs, entry_count`;
