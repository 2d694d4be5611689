import type { Principal } from '@muster/access';
import type { Transaction } from '@muster/database';

export type EntryKind = 'lifecycle' | 'provisioning' | 'execution' | 'status' | 'job';
export type EntryLevel = 'debug' | 'info' | 'warn' | 'error';

export interface TimelineEntry {
  kind: EntryKind;
  message: string;
  level?: EntryLevel;
  source?: string;
  jobId?: string;
  data?: Record<string, unknown>;
  /** When it happened, where that is not now. */
  at?: Date;
}

export interface TimelineOf {
  organizationId: string;
  agentId: string;
}

/**
 * Appends to an agent's timeline in the order given. The head's row stays locked until the commit, so a reader that
 * has seen a number has seen every smaller one.
 */
export function appendTimeline(tx: Transaction, of: TimelineOf, entries: TimelineEntry[]): void {
  if (entries.length === 0) return;
  tx.defer(
    `WITH head AS (
       INSERT INTO timeline_head AS h (agent_id, organization_id, last_seq) VALUES ($1, $2, $3)
       ON CONFLICT (agent_id) DO UPDATE SET last_seq = h.last_seq + $3
       RETURNING last_seq - $3 AS base)
     INSERT INTO timeline_entry
       (agent_id, seq, organization_id, kind, level, message, source, job_id, data, at)
     SELECT $1, head.base + e.n, $2, e.kind, e.level, e.message, e.source, e.job_id, e.data, COALESCE(e.at, now())
     FROM head, unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::uuid[], $9::jsonb[], $10::timestamptz[])
       WITH ORDINALITY AS e (kind, level, message, source, job_id, data, at, n)`,
    [
      of.agentId,
      of.organizationId,
      entries.length,
      entries.map(({ kind }) => kind),
      entries.map(({ level }) => level ?? 'info'),
      entries.map(({ message }) => message),
      entries.map(({ source }) => source ?? null),
      entries.map(({ jobId }) => jobId ?? null),
      entries.map(({ data }) => (data ? JSON.stringify(data) : null)),
      entries.map(({ at }) => at ?? null),
    ],
    'append_timeline',
  );
  tx.notify('timeline', of.agentId);
}

/**
 * For the statement that takes a job's log: the parts `head` and `kept`, which append the rows of `lines` (place from 1
 * on, level, message, seq, at) to the timeline of the one agent that `agent` has, behind one another. `count` has how
 * many they are.
 */
export function appendLines(names: Record<'lines' | 'agent' | 'count' | 'jobId' | 'organizationId', string>): string {
  const { lines, agent, count, jobId, organizationId } = names;
  return `head AS (
    INSERT INTO timeline_head AS h (agent_id, organization_id, last_seq)
    SELECT ${agent}.agent_id, ${organizationId}, ${count}.count FROM ${agent}, ${count} WHERE ${count}.count > 0
    ON CONFLICT (agent_id) DO UPDATE SET last_seq = h.last_seq + excluded.last_seq
    RETURNING last_seq),
  kept AS (
    INSERT INTO timeline_entry (agent_id, seq, organization_id, kind, level, message, source, job_id, log_seq, at)
    SELECT ${lines}.agent_id, head.last_seq - ${count}.count + ${lines}.place, ${organizationId}, 'execution',
           ${lines}.level, ${lines}.message, 'worker', ${jobId}, ${lines}.seq, to_timestamp(${lines}.at)
    FROM ${lines}, head, ${count})`;
}

/** The job is being deleted, and with it what it said; what became of the machine for it stays. */
export async function dropTimelineOfJob(tx: Transaction, caller: Principal, jobId: string): Promise<void> {
  await tx.execute(
    `DELETE FROM timeline_entry WHERE job_id = $1 AND organization_id = $2 AND kind IN ('job', 'execution')`,
    [jobId, caller.organizationId],
  );
}
