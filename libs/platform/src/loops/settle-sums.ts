import type { Round } from './round';
import { sweep, type SweepCounts } from './sweep';

interface Sums {
  name: string;
  /** Those under whose sums something changed. */
  organizations(after: string | null, limit: number): Promise<string[]>;
  /** Settles some days of one; `rest`: there is more to settle. */
  settle(organizationId: string): Promise<{ days: number; rest: boolean }>;
}

/** Settles what changed under the sums of each organization, so that who reads them finds little to settle. */
export function settleSums(round: Round, { name, organizations, settle }: Sums): Promise<SweepCounts<'settled'>> {
  return sweep<string, 'settled'>(round, {
    name,
    outcomes: ['settled'],
    candidates: organizations,
    settle: async (organizationId) => {
      let settled = 0;
      for (let rest = true; rest && round.hasTime;) {
        const step = await settle(organizationId);
        settled += step.days;
        rest = step.rest;
      }
      return settled > 0 ? 'settled' : null;
    },
    rowOf: (organizationId) => `organization ${organizationId}`,
  });
}
