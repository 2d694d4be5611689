import type { Round } from './round';
import { sweepRows, type SweepCounts } from './sweep-rows';

interface Rollups {
  name: string;
  /** Returns the organizations with changes that are not in their rollups yet. */
  organizations(after: string | null, limit: number): Promise<string[]>;
  /** Refreshes some days of an organization. `hasMore`: whether changes are left. */
  refresh(organizationId: string): Promise<{ days: number; hasMore: boolean }>;
}

// eslint-disable-next-line plain/words -- A value of the metric label `outcome`.
const refreshed = 'settled';

/** Refreshes the rollups of each organization with changes, so that reads have little to refresh. */
export function refreshRollups(
  round: Round,
  { name, organizations, refresh }: Rollups,
): Promise<SweepCounts<typeof refreshed>> {
  return sweepRows<string, typeof refreshed>(round, {
    name,
    outcomes: [refreshed],
    candidates: organizations,
    settle: async (organizationId) => {
      let dayCount = 0;
      for (let hasMore = true; hasMore && round.hasTime;) {
        const step = await refresh(organizationId);
        dayCount += step.days;
        hasMore = step.hasMore;
      }
      return dayCount > 0 ? refreshed : null;
    },
    rowOf: (organizationId) => `organization ${organizationId}`,
  });
}
