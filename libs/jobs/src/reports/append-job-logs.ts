import { markWorking } from '@muster/agents';
import { appendLines } from '@muster/timeline';
import type { JobLogEntry } from '@muster/contracts';
import type { Database, JobEntity } from '@muster/database';
import { deletedOf, type JobIsOver, jobIsOver, overOrUnknown } from './deleted-job';
import { noSuchJob } from '../lists/job-row';
import type { Reporter } from './reporter';

/**
 * Keeps a batch of log entries, each with a seq once for its job, in one statement. A batch that touches a job that is
 * not the caller's is refused whole.
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
  const batches = [...byJob].map(([jobId, entries]) => valuesOf({ organizationId, agentId }, jobId, entries));
  const [first, ...others] = batches;
  // One job's lines, as workers send them: one statement, one round trip.
  if (others.length === 0) {
    const [kept] = await database.query<Kept>({ organizationId }, keepLogs, first, 'keep_logs');
    if (!kept) return overOrUnknown(database, { organizationId, agentId }, first![0] as string);
    if (kept.count > 0) database.notify('timeline', kept.agentId);
    return { accepted: kept.count };
  }
  return database.transaction({ organizationId }, async (tx) => {
    let accepted = 0;
    const deleted = new Set(await deletedOf(database, { organizationId, agentId }, [...byJob.keys()]));
    if (deleted.size === batches.length) return jobIsOver;
    // In one order for everybody; agents that two batches lock in another order are left to the deadlock's retry.
    for (const values of batches.sort(([one], [other]) => ((one as string) < (other as string) ? -1 : 1))) {
      const [kept] = await tx.query<Kept>(keepLogs, values, 'keep_logs');
      // One that is being deleted at this moment is left to the worker's next attempt.
      if (!kept && deleted.has(values[0] as string)) continue;
      if (!kept) throw noSuchJob();
      accepted += kept.count;
      tx.notify('timeline', kept.agentId);
    }
    return { accepted };
  });
}

interface Kept extends Pick<JobEntity, 'agentId'> {
  count: number;
}

function valuesOf({ organizationId, agentId }: Reporter, jobId: string, entries: JobLogEntry[]): unknown[] {
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

const keepLogs = `
  WITH owner AS (
    SELECT id, agent_id FROM job WHERE id = $1 AND organization_id = $2 AND ($3::uuid IS NULL OR agent_id = $3)),
  seen AS (
    SELECT s.seqs, owner.agent_id FROM job_log_seen s JOIN owner ON owner.id = s.job_id FOR UPDATE OF s),
  given AS (
    SELECT DISTINCT ON (COALESCE(e.seq, -e.n)) e.seq, e.level, e.message, e.at, e.n
    FROM unnest($4::bigint[], $5::text[], $6::text[], $7::float8[]) WITH ORDINALITY AS e (seq, level, message, at, n)
    ORDER BY COALESCE(e.seq, -e.n), e.n),
  fresh AS MATERIALIZED (
    SELECT given.*, seen.agent_id, row_number() OVER (ORDER BY given.n) AS place FROM given, seen
    WHERE given.seq IS NULL OR NOT seen.seqs @> given.seq),
  counted AS (
    SELECT count(*) AS count FROM fresh),
  noted AS (
    UPDATE job_log_seen s
    SET seqs = s.seqs + (SELECT range_agg(int8range(seq, seq, '[]')) FROM fresh WHERE seq IS NOT NULL)
    WHERE s.job_id = $1 AND EXISTS (SELECT FROM fresh WHERE seq IS NOT NULL)),
  ${appendLines({ lines: 'fresh', agent: 'seen', count: 'counted', jobId: '$1', organizationId: '$2' })},
  alive AS (
    ${markWorking('SELECT agent_id FROM owner', 'a job’s log')})
  SELECT seen.agent_id, counted.count::int AS count FROM seen, counted`;
