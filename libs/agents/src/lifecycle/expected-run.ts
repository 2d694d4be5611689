import type { Transaction } from '@muster/database';

/** A run that is known to come, as a schedule says. */
export interface ExpectedRun {
  agentId: string;
  at: Date;
  /** The schedule's name. */
  name: string;
}

/** What is known to come next on an agent, of runs that no guard skips; the schedules’ own lib knows that. */
export type Foresee = (tx: Transaction, agentId: string, now: Date) => Promise<ExpectedRun | null>;
