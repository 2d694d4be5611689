import type { AppName } from '@muster/contracts';
import type { RowFailure } from './round';

/** A row that a loop has failed to process at every try since `since`. */
export interface StuckRow extends RowFailure {
  since: Date;
  times: number;
}

/** Result of a loop's last round. */
export interface LoopRun {
  name: string;
  app: AppName;
  host: string;
  intervalMs: number;
  beganAt: Date;
  durationMs: number;
  counts: Record<string, number>;
  /** Number of rows that the round failed to process. */
  failed: number;
  /** Reason why the round itself was aborted; null if it was not. */
  error: string | null;
  stuck: StuckRow[];
}

/** Stores the rounds of loops for operators to read. The database implements it. */
export abstract class LoopLedger {
  /** Records a round. Without `soon`, the round may be written later, together with rounds of other loops. */
  abstract recordRun(run: LoopRun, when: { soon: boolean }): Promise<void>;
}
