import type { AppName } from '@muster/contracts';
import type { RowFailure } from './round';

/** A row that a loop has failed to settle in each round since. */
export interface StuckRow extends RowFailure {
  since: Date;
  times: number;
}

/** What a loop's last round did. */
export interface LoopRun {
  name: string;
  app: AppName;
  host: string;
  intervalMs: number;
  beganAt: Date;
  durationMs: number;
  counts: Record<string, number>;
  /** Rows that it could not settle. */
  failed: number;
  /** Why the round itself broke off. */
  error: string | null;
  stuck: StuckRow[];
}

/** Where the rounds of loops are kept for people to see; the database is it. */
export abstract class LoopLedger {
  /** One that did nothing may wait and be written with others. */
  abstract record(run: LoopRun, when: { soon: boolean }): Promise<void>;
}
