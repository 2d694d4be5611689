import type { Database, OrganizationSettingsEntity } from '@muster/database';
import { type Round, sweep, type SweepCounts } from '@muster/platform';
import { settleRollups } from './settle-rollups';

const beginning = '00000000-0000-0000-0000-000000000000';

/** Settles what changed under the rollups of each organization, so that who reads them finds little to settle. */
export function sweepRollups(database: Database, round: Round): Promise<SweepCounts<'settled'>> {
  return sweep<string, 'settled'>(round, {
    name: 'roi rollups',
    outcomes: ['settled'],
    candidates: (after, limit) => organizationsToSettle(database, after, limit),
    settle: async (organizationId) => {
      let settled = 0;
      for (let rest = true; rest && round.hasTime;) {
        const step = await settleRollups(database, organizationId);
        settled += step.days;
        rest = step.rest;
      }
      return settled > 0 ? 'settled' : null;
    },
    rowOf: (organizationId) => `organization ${organizationId}`,
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
    [after ?? beginning, limit],
    'roi_to_settle',
  );
  return rows.map(({ organizationId }) => organizationId);
}
