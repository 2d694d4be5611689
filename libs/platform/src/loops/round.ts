import { Logger } from '@nestjs/common';

/** A row that a round could not settle. The round goes on, and the next one meets it again. */
export interface RowFailure {
  /** What it is and its id: `agent 0192…`. */
  row: string;
  error: string;
}

export interface RoundOptions {
  /** Nothing new is begun after this. */
  budgetMs?: number;
  /** Where the sweeps of the round before ran out of time, by name. */
  places?: Map<string, unknown>;
}

/** So many failed rows are named; all are counted. */
const named = 50;

/** One round of a maintenance loop: how long it has, and what it could not settle. */
export class Round {
  readonly failures: RowFailure[] = [];
  failed = 0;
  readonly places: Map<string, unknown>;
  /** Rows that failed before and have not been tried again yet. */
  readonly untried = new Set<string>();
  private readonly logger: Logger;
  private readonly until: number;

  constructor(loop: string, { budgetMs = 20_000, places = new Map() }: RoundOptions = {}) {
    this.logger = new Logger(loop);
    this.until = performance.now() + budgetMs;
    this.places = places;
  }

  get hasTime(): boolean {
    return performance.now() < this.until;
  }

  /** One bad row never stops the rest, and is never lost sight of. */
  fail(row: string, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.failed += 1;
    if (this.failures.length < named) this.failures.push({ row, error: message.slice(0, 500) });
    this.logger.warn(`${row}: ${message}`);
  }
}
