import { agentNotFoundError } from '@muster/contracts';
import type { Database, TimelineEntryEntity, TimelineHeadEntity } from '@muster/database';
import type { TimelineRow } from './timeline-event';
import type { StoredRange } from './decide-stream-start';

/** A reader's position in an agent's timeline: the last entry that it has read. */
export interface TimelinePosition {
  agentId: string;
  seq: number;
}

export interface NextEntries {
  rows: TimelineRow[];
  /** The newest number of the timeline. If no rows were returned, the entries up to this number were deleted. */
  head: number;
}

/** Maximum number of entries of one agent in one read. */
const pageEntries = 200;
/** Number of bytes after which a page gets no further entry of an agent. */
const pageBytes = 256 * 1024;

/**
 * Returns the range of the agent's stored entries. Throws agent_not_found if the agent belongs to another organization.
 */
export async function findStoredRange(
  database: Database,
  organizationId: string,
  agentId: string,
): Promise<StoredRange> {
  const [found] = await database.query<StoredRange>(
    { organizationId },
    `SELECT COALESCE(h.last_seq, 0) AS latest,
            (SELECT e.seq FROM timeline_entry e WHERE e.agent_id = a.id ORDER BY e.seq LIMIT 1) AS oldest
     FROM agent a LEFT JOIN timeline_head h ON h.agent_id = a.id
     WHERE a.id = $1 AND a.organization_id = $2`,
    [agentId, organizationId],
    'find_timeline',
  );
  if (!found) throw agentNotFoundError();
  return found;
}

/**
 * Reads the next page of each timeline. All pages are read with one statement and therefore one snapshot: if a
 * timeline's newest visible number is n, all entries up to n are visible. The sizes of the entries are checked before
 * their texts are fetched.
 */
export async function readNextEntries(
  database: Database,
  positions: TimelinePosition[],
): Promise<Map<string, NextEntries>> {
  const rows = await database.query<
    Omit<TimelineRow, 'seq'> & {
      seq: TimelineEntryEntity['seq'] | null;
      agentId: TimelineHeadEntity['agentId'];
      head: TimelineHeadEntity['lastSeq'];
    }
  >(
    'system',
    `SELECT f.agent_id, h.last_seq AS head, p.seq, p.kind, p.level, p.message, p.source, p.job_id, p.data, p.at
     FROM unnest($1::uuid[], $2::bigint[]) AS f (agent_id, seq)
     JOIN timeline_head h ON h.agent_id = f.agent_id
     LEFT JOIN LATERAL (
       SELECT n.*, sum(octet_length(n.message) + COALESCE(pg_column_size(n.data), 0)) OVER (
         ORDER BY n.seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
       FROM (
         SELECT e.seq, e.kind, e.level, e.message, e.source, e.job_id, e.data, e.at
         FROM timeline_entry e WHERE e.agent_id = f.agent_id AND e.seq > f.seq
         ORDER BY e.seq LIMIT ${pageEntries}) AS n
     ) AS p ON COALESCE(p.bytes_before, 0) < ${pageBytes}
     ORDER BY f.agent_id, p.seq`,
    getPositionValues(positions),
    'read_next_entries',
  );
  const read = new Map<string, NextEntries>();
  for (const { agentId, head, seq, ...row } of rows) {
    const next = read.get(agentId) ?? { rows: [], head };
    read.set(agentId, next);
    if (seq !== null) next.rows.push({ ...row, seq });
  }
  return read;
}

/**
 * Returns the ids of the agents that have entries after these positions. One statement reads the newest numbers of all
 * agents.
 */
export async function findAdvancedTimelines(database: Database, positions: TimelinePosition[]): Promise<string[]> {
  const advanced = await database.query<Pick<TimelineHeadEntity, 'agentId'>>(
    'system',
    `SELECT h.agent_id FROM unnest($1::uuid[], $2::bigint[]) AS f (agent_id, seq)
     JOIN timeline_head h ON h.agent_id = f.agent_id
     WHERE h.last_seq > f.seq`,
    getPositionValues(positions),
    'find_advanced_timelines',
  );
  return advanced.map(({ agentId }) => agentId);
}

function getPositionValues(positions: TimelinePosition[]): unknown[] {
  return [positions.map(({ agentId }) => agentId), positions.map(({ seq }) => seq)];
}
