import type { Database, OrganizationSettingsEntity } from '@muster/database';
import { nilId, type Round, refreshRollups } from '@muster/platform';
import { refreshRoiRollups } from './refresh-roi-rollups';

/** Refreshes the rollups of all organizations with changes, so that reads have little to refresh. */
export function sweepRoiRollups(database: Database, round: Round): ReturnType<typeof refreshRollups> {
  return refreshRollups(round, {
    name: 'roi rollups',
    organizations: (after, limit) => findOrganizationsToRefresh(database, after, limit),
    refresh: (organizationId) => refreshRoiRollups(database, organizationId),
  });
}

async function findOrganizationsToRefresh(database: Database, after: string | null, limit: number): Promise<string[]> {
  const rows = await database.query<Pick<OrganizationSettingsEntity, 'organizationId'>>(
    'system',
    `SELECT s.organization_id FROM organization_settings s
     LEFT JOIN pilot_roi_state r ON r.organization_id = s.organization_id
     WHERE s.organization_id > $1
       AND (EXISTS (SELECT FROM pilot_roi_change c WHERE c.organization_id = s.organization_id)
            OR r.timezone IS DISTINCT FROM s.timezone)
     ORDER BY s.organization_id LIMIT $2`,
    [after ?? nilId, limit],
    'roi_to_refresh',
  );
  return rows.map(({ organizationId }) => organizationId);
}
