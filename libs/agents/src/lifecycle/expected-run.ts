import type { Transaction } from '@muster/database';

/** A run that a schedule will launch. */
export interface ExpectedRun {
  agentId: string;
  at: Date;
  /** The schedule's name. */
  name: string;
}

/** Finds the agent's next scheduled run that no guard skips. The schedules library implements it. */
export type FindExpectedRun = (tx: Transaction, agentId: string, now: Date) => Promise<ExpectedRun | null>;
