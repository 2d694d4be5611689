import type { Database, OrganizationSettingsEntity } from '@muster/database';
import { nilId, type Round, sweepRows, type SweepCounts } from '@muster/platform';

/** Number of days for which an organization keeps each kind of row; null keeps the rows forever. */
export type Retention = Pick<
  OrganizationSettingsEntity,
  | 'logRetentionDays'
  | 'timelineRetentionDays'
  | 'stepRetentionDays'
  | 'claimRetentionDays'
  | 'usageRetentionDays'
  | 'costRetentionDays'
>;

export interface Purge {
  /** Name of the purge, which is unique within its round. */
  name: string;
  keptFor: keyof Retention;
  now: Date;
  /** Deletes some of the rows that are older than `before`, in one short transaction; returns their number. */
  step(organizationId: string, before: Date): Promise<number>;
}

/** Deletes rows that exceed each organization's retention, step by step, until none are left or the time is up. */
export function purgeByRetention(
  database: Database,
  round: Round,
  { name, keptFor, now, step }: Purge,
): Promise<SweepCounts<'purged'>> {
  return sweepRows<Pick<OrganizationSettingsEntity, 'organizationId'> & Retention, 'purged'>(round, {
    name,
    outcomes: ['purged'],
    candidates: (after, limit) =>
      database.query(
        'system',
        `SELECT organization_id, log_retention_days, timeline_retention_days, step_retention_days,
                claim_retention_days, usage_retention_days, cost_retention_days
         FROM organization_settings WHERE organization_id > $1 ORDER BY organization_id LIMIT $2`,
        [after?.organizationId ?? nilId, limit],
        'retention',
      ),
    settle: async (organization) => {
      const days = organization[keptFor];
      if (days === null) return null;
      const before = new Date(now.getTime() - days * 86_400_000);
      let purged = 0;
      for (let rows = 1; rows > 0 && round.hasTime; purged += rows) {
        rows = await step(organization.organizationId, before);
      }
      return purged > 0 ? 'purged' : null;
    },
    rowOf: ({ organizationId }) => `organization ${organizationId}`,
  });
}
