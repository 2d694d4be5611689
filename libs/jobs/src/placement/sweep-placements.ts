import type { Database, JobEntity } from '@muster/database';
import { Round } from '@muster/platform';
import { placeJob, type PlacementParts } from './place-job';
import { firstJobsOfGroupSql, waitingTargetGroupsSql } from './unplaced-queue';

/** Maximum number of jobs of one set of labels that are placed concurrently. */
const maxConcurrent = 16;

type Counts = Record<'looked' | 'started', number>;
type Head = Pick<JobEntity, 'id'> & { targetGroup: string; limitsRuns: boolean };

/**
 * Places jobs for which no queue message arrives: a retry whose delay has passed, a job whose message was lost, and a
 * job that was launched while a run ended. Each set of required labels is checked once, whatever the number of its jobs
 * and of the agents, as long as its first job cannot start.
 */
export function sweepPlacements(parts: PlacementParts, round: Round): Promise<Counts> {
  return placeJobs(parts, { organizationId: null, wholeGroup: true }, round);
}

/**
 * Places the jobs of one organization that can start now: after the launch of a batch, or if a key, an account or a
 * slot of the organization came free. One message is enough for any number of jobs. The first job of each set of labels
 * is tried; as long as jobs start, the next ones are. If the handler runs out of time, it enqueues the next message.
 */
export async function placeJobsOfOrganization(
  parts: PlacementParts,
  organizationId: string,
  round = new Round('place jobs', { budgetMs: 10_000 }),
): Promise<Counts> {
  const counts = await placeJobs(parts, { organizationId, wholeGroup: false }, round);
  if (!round.hasTime) {
    await parts.database.transaction({ organizationId }, (tx) =>
      tx.enqueue({ queue: 'dispatch', name: 'place-jobs', payload: { organizationId } }),
    );
  }
  return counts;
}

async function placeJobs(
  parts: PlacementParts,
  { organizationId, wholeGroup }: { organizationId: string | null; wholeGroup: boolean },
  round: Round,
): Promise<Counts> {
  const { database } = parts;
  const counts = { looked: 0, started: 0 };
  const place = async ({ id, targetGroup }: Head): Promise<string[]> => {
    counts.looked += 1;
    try {
      const outcome = await placeJob(parts, id, { wholeGroup });
      if (outcome === 'started') counts.started += 1;
      return outcome === 'waiting' ? [] : [targetGroup];
    } catch (error) {
      round.recordFailure(`job ${id}`, error);
      return [];
    }
  };
  let heads = await readFirstJobsOfGroups(database, { organizationId, groups: null, perGroup: 1 });
  while (heads.length > 0) {
    const groups = new Set<string>();
    // The slots of an organization that limits its runs are given away in the order of the jobs.
    const width = heads.some(({ limitsRuns }) => limitsRuns) ? 1 : maxConcurrent;
    for (let at = 0; at < heads.length && round.hasTime; at += width) {
      for (const group of (await Promise.all(heads.slice(at, at + width).map(place))).flat()) groups.add(group);
    }
    if (groups.size === 0 || !round.hasTime) break;
    // The first job of these sets of labels has started, so further ones may start.
    heads = await readFirstJobsOfGroups(database, { organizationId, groups: [...groups], perGroup: maxConcurrent });
  }
  return counts;
}

/** SQL for the organizations that have jobs without an agent. The index is read once for each of them. */
const waitingOrganizations = `(
  WITH RECURSIVE waiting AS (
    (SELECT organization_id FROM job WHERE status = 'queued' AND agent_id IS NULL ORDER BY organization_id LIMIT 1)
    UNION ALL
    SELECT following.organization_id FROM waiting w CROSS JOIN LATERAL (
      SELECT organization_id FROM job
      WHERE status = 'queued' AND agent_id IS NULL AND organization_id > w.organization_id
      ORDER BY organization_id LIMIT 1) following)
  SELECT organization_id FROM waiting WHERE $1::uuid IS NULL)`;

/** Returns the first startable jobs of each set of labels, in each organization or in one. */
function readFirstJobsOfGroups(
  database: Database,
  { organizationId, groups, perGroup }: { organizationId: string | null; groups: string[] | null; perGroup: number },
): Promise<Head[]> {
  const organizations = organizationId ? '(SELECT $1::uuid AS organization_id)' : waitingOrganizations;
  return database.query<Head>(
    'system',
    `SELECT heads.id, g.target_group, s.max_concurrent_runs IS NOT NULL AS limits_runs
     FROM ${organizations} w JOIN organization_settings s ON s.organization_id = w.organization_id
     CROSS JOIN LATERAL ${waitingTargetGroupsSql('w.organization_id')} g
     CROSS JOIN LATERAL ${firstJobsOfGroupSql('w.organization_id', 'g.target_group', '$3')} heads
     WHERE $2::uuid[] IS NULL OR g.target_group = ANY($2)
     ORDER BY heads.priority DESC, heads.queued_at, heads.id LIMIT 1000`,
    [organizationId, groups, perGroup],
    organizationId ? 'heads_of_organization' : 'heads_without_agent',
  );
}
