import { Logger } from '@nestjs/common';

/** A row that a round failed to process. The round continues, and the next round tries the row again. */
export interface RowFailure {
  /** Kind and id of the row, for example `agent 0192…`. */
  row: string;
  error: string;
}

export interface RoundOptions {
  /** Milliseconds after which the round starts no new work. */
  budgetMs?: number;
  /** Positions at which the sweeps that ran out of time in the previous round continue, by the name of the sweep. */
  cursors?: Map<string, unknown>;
}

/** Maximum number of failed rows that a round lists. All of them are counted. */
const maxListedFailures = 50;

/** One round of a maintenance loop: its time budget and the rows that it failed to process. */
export class Round {
  readonly failures: RowFailure[] = [];
  failed = 0;
  readonly cursors: Map<string, unknown>;
  /** Rows that failed before and have not been tried again yet. */
  readonly untried = new Set<string>();
  private readonly logger: Logger;
  private readonly until: number;

  constructor(loop: string, { budgetMs = 20_000, cursors = new Map() }: RoundOptions = {}) {
    this.logger = new Logger(loop);
    this.until = performance.now() + budgetMs;
    this.cursors = cursors;
  }

  get hasTime(): boolean {
    return performance.now() < this.until;
  }

  /** Records and logs a failed row. The round continues with the other rows. */
  recordFailure(row: string, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.failed += 1;
    if (this.failures.length < maxListedFailures) this.failures.push({ row, error: message.slice(0, 500) });
    this.logger.warn(`${row}: ${message}`);
  }
}
