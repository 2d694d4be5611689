import type { Database, OrganizationSettingsEntity } from '@muster/database';
import { nilId, type Round, settleSums, type SweepCounts } from '@muster/platform';
import { settleRollups } from './settle-rollups';

/** Refreshes the rollups of all organizations with changes, so that reads have little to refresh. */
export function sweepRollups(database: Database, round: Round): Promise<SweepCounts<'settled'>> {
  return settleSums(round, {
    name: 'roi rollups',
    organizations: (after, limit) => organizationsToSettle(database, after, limit),
    settle: (organizationId) => settleRollups(database, organizationId),
  });
}

async function organizationsToSettle(database: Database, after: string | null, limit: number): Promise<string[]> {
  const rows = await database.query<Pick<OrganizationSettingsEntity, 'organizationId'>>(
    'system',
    `SELECT s.organization_id FROM organization_settings s
     LEFT JOIN pilot_roi_state r ON r.organization_id = s.organization_id
     WHERE s.organization_id > $1
       AND (EXISTS (SELECT FROM pilot_roi_change c WHERE c.organization_id = s.organization_id)
            OR r.timezone IS DISTINCT FROM s.timezone)
     ORDER BY s.organization_id LIMIT $2`,
    [after ?? nilId, limit],
    'roi_to_settle',
  );
  return rows.map(({ organizationId }) => organizationId);
}
