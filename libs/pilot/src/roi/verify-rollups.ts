import { isDeepStrictEqual } from 'node:util';
import { type Database, acquireAdvisoryLock, type OrganizationSettingsEntity } from '@muster/database';
import { computeRoi } from './compute-roi';
import { readRollup } from './read-rollup';
import { refreshRoiRollups, resetRoiRollups } from './refresh-roi-rollups';

export interface RollupFault {
  organizationId: string;
  workflowId: string | null;
  /** Days that differ, and `percentiles` if these differ; or a sentence if the comparison was not possible. */
  differs: string[];
}

/** Compares an organization's rollups with its claims, over all of its days, for all workflows and for each. */
export async function verifyRoiRollups(database: Database, organizationId: string): Promise<RollupFault[]> {
  const [{ from, to, workflows } = { from: null, to: null, workflows: [] }] = await database.query<{
    from: string | null;
    to: string | null;
    workflows: string[];
  }>(
    { organizationId },
    `SELECT least(min(b.day), (SELECT min(day) FROM pilot_roi_day d WHERE d.organization_id = $1))::text AS from,
            greatest(max(b.day), (SELECT max(day) FROM pilot_roi_day d WHERE d.organization_id = $1))::text AS to,
            COALESCE(array_agg(DISTINCT b.workflow_id) FILTER (WHERE b.workflow_id IS NOT NULL), '{}') AS workflows
     FROM (SELECT (occurred_at AT TIME ZONE s.timezone)::date AS day, workflow_id
           FROM pilot_batch p JOIN organization_settings s ON s.organization_id = p.organization_id
           WHERE p.organization_id = $1) b`,
    [organizationId],
  );
  if (from === null || to === null) return [];
  const faults: RollupFault[] = [];
  for (const workflowId of [null, ...workflows]) {
    const differs = await findRollupDifferences(database, { organizationId, workflowId, range: { from, to } });
    if (differs.length > 0) faults.push({ organizationId, workflowId, differs });
  }
  return faults;
}

/** Returns the differences. Compares up to three times, because data may change between the two reads. */
async function findRollupDifferences(database: Database, read: Parameters<typeof readRollup>[1]): Promise<string[]> {
  let differs: string[] = [];
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    while ((await refreshRoiRollups(database, read.organizationId)).hasMore);
    const rollup = await readRollup(database, read);
    const raw = await computeRoi(database, read.organizationId, read.range, read.workflowId);
    if (!rollup) differs = ['the rollups changed during every comparison'];
    else {
      const figuresByDay = (sums: typeof raw) => new Map(sums.days.map((day) => [day.day, formatDayFigures(day)]));
      const [stored, computed] = [figuresByDay(rollup), figuresByDay(raw)];
      const days = [...new Set([...stored.keys(), ...computed.keys()])].sort();
      differs = days.filter((day) => !isDeepStrictEqual(stored.get(day), computed.get(day)));
      if (!isDeepStrictEqual(rollup.percentiles, raw.percentiles)) differs.push('percentiles');
    }
    if (differs.length === 0) break;
  }
  return differs;
}

/** The figures of a day that the rollups store. */
const rollupFigures = [
  ...(['batches', 'attempted', 'eobUploaded', 'noEobFound', 'failed', 'timed'] as const),
  ...(['processingMicros', 'jobs', 'costMicros', 'waitingMicros'] as const),
];

function formatDayFigures(day: Awaited<ReturnType<typeof computeRoi>>['days'][number]): string {
  return rollupFigures.map((name) => day[name]).join(' ');
}

/** Rebuilds an organization's rollups in steps. Until that is finished, its figures are computed from the claims. */
export async function rebuildRoiRollups(database: Database, organizationId: string): Promise<{ days: number }> {
  await database.transaction({ organizationId }, async (tx) => {
    await acquireAdvisoryLock(tx, 'pilot_roi', organizationId);
    const [settings] = await tx.query<Pick<OrganizationSettingsEntity, 'timezone'>>(
      'SELECT timezone FROM organization_settings WHERE organization_id = $1',
      [organizationId],
    );
    if (settings) await resetRoiRollups(tx, organizationId, settings.timezone);
  });
  for (let days = 0; ;) {
    const step = await refreshRoiRollups(database, organizationId);
    days += step.days;
    if (!step.hasMore) return { days };
  }
}
