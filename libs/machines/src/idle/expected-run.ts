import type { Transaction } from '@muster/database';

/** A run that a schedule will launch. */
export interface ExpectedRun {
  agentId: string;
  at: Date;
  /** The schedule's name. */
  name: string;
}

/**
 * Finds the agent's next scheduled run, leaving out runs that a condition of their schedule will skip. The schedules
 * library implements this function.
 */
export type FindExpectedRun = (tx: Transaction, agentId: string, now: Date) => Promise<ExpectedRun | null>;
