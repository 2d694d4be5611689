import { Logger } from '@nestjs/common';
import type { AppName } from '@muster/contracts';
import { hostname } from 'node:os';
import type { Metrics } from '../operations/metrics';
import { Periodic } from '../operations/periodic';
import type { LoopLedger, LoopRun, StuckRow } from './loop-ledger';
import { Round } from './round';

export interface LoopSpec {
  /** Name of the loop, unique among the loops of all apps. */
  name: string;
  intervalMs: number;
  budgetMs?: number;
  /**
   * Whether the loop runs only at every fifth interval after a time without work and without notifications. For loops
   * whose work is nearly always announced by a notification and that poll only in case one is lost.
   */
  restsWhenQuiet?: boolean;
  /** Runs one round and returns counts of what it did. Must be safe on any number of replicas at the same time. */
  runOnce(round: Round): Promise<Record<string, number>>;
  /** Returns the milliseconds until something is due before the end of the interval; null if that is unknown. */
  dueInMs?(): Promise<number | null>;
  /** Called after the last round, when the app shuts down. */
  ended?(): Promise<void>;
}

export interface LoopParts {
  app: AppName;
  metrics: Metrics;
  ledger: LoopLedger;
}

/** Rounds that did nothing are recorded at most once in this time. */
const quietMs = 10_000;
/**
 * A loop with `restsWhenQuiet` switches to its longer interval after this time without work and without a notification.
 */
const restAfterMs = 10_000;
const restFactor = 5;

/** A maintenance loop. Between rounds it remembers where its sweeps resume and which rows keep failing. */
export class Loop {
  private readonly periodic: Periodic;
  private readonly logger: Logger;
  private readonly cursors = new Map<string, unknown>();
  private stuck = new Map<string, StuckRow>();
  private recordedAt = -Infinity;
  private busyAt = performance.now();
  private resting = false;

  constructor(
    private readonly spec: LoopSpec,
    private readonly parts: LoopParts,
  ) {
    this.logger = new Logger(spec.name);
    this.periodic = new Periodic({ ...spec, runOnce: () => this.runOnce(), nextInMs: () => this.getNextDelayMs() });
  }

  start(): void {
    this.periodic.start();
  }

  async stop(): Promise<void> {
    await this.periodic.stop();
    await this.spec.ended?.();
  }

  /** Makes a resting loop use its normal interval again after a notification, because there may be work now. */
  useNormalInterval(): void {
    this.busyAt = performance.now();
    if (this.resting) this.periodic.moveNextRoundForward();
    this.resting = false;
  }

  private getNextDelayMs(): number {
    const { intervalMs, restsWhenQuiet = false } = this.spec;
    this.resting = restsWhenQuiet && performance.now() - this.busyAt > restAfterMs;
    return this.resting ? intervalMs * restFactor : intervalMs;
  }

  async runOnce(): Promise<void> {
    const { name, budgetMs } = this.spec;
    const round = new Round(name, { budgetMs, cursors: this.cursors });
    const beganAt = new Date();
    const began = performance.now();
    let counts: Record<string, number> = {};
    let error: string | null = null;
    try {
      counts = await this.spec.runOnce(round);
    } catch (failure) {
      error = (failure as Error).message;
      this.logger.warn(`the round failed: ${error}`);
    }
    const did = Object.values(counts).some((count) => count > 0);
    if (did) this.logger.debug('round', counts);
    if (did || round.failed > 0 || error !== null) this.busyAt = performance.now();
    // The list of stuck rows is not changed, because an aborted round did not process all rows.
    if (error === null) this.rememberStuckRows(round, beganAt);
    const durationMs = performance.now() - began;
    this.measureRound(counts, { failed: round.failed, durationMs, outcome: error === null ? 'done' : 'failed' });
    await this.recordRun({ beganAt, durationMs, counts, failed: round.failed, error }, did);
  }

  private rememberStuckRows(round: Round, now: Date): void {
    const still = new Map<string, StuckRow>();
    for (const { row, error } of round.failures) {
      const existing = this.stuck.get(row);
      still.set(row, { row, error, since: existing?.since ?? now, times: (existing?.times ?? 0) + 1 });
    }
    // Rows that failed before and that this round did not process stay in the list of stuck rows.
    const isStuckRow = (row: string) => this.cursors.size > 0 || round.untried.has(row);
    for (const [row, existing] of this.stuck) if (!still.has(row) && isStuckRow(row)) still.set(row, existing);
    this.stuck = new Map([...still].slice(0, 50));
  }

  private measureRound(
    counts: Record<string, number>,
    { failed, durationMs, outcome }: { failed: number; durationMs: number; outcome: 'done' | 'failed' },
  ): void {
    const { name: loop } = this.spec;
    const { loopSeconds, loopRows, loopStuckRows } = this.parts.metrics;
    loopSeconds.observe({ loop, outcome }, durationMs / 1000);
    for (const [name, count] of Object.entries(counts)) loopRows.inc({ loop, outcome: name }, count);
    loopRows.inc({ loop, outcome: 'unsettled' }, failed);
    loopStuckRows.set({ loop }, this.stuck.size);
  }

  private async recordRun(run: Pick<LoopRun, 'beganAt' | 'durationMs' | 'counts' | 'failed' | 'error'>, did: boolean) {
    const hasChanged = did || run.failed > 0 || run.error !== null;
    if (!hasChanged && performance.now() - this.recordedAt < quietMs) return;
    this.recordedAt = performance.now();
    const { name, intervalMs } = this.spec;
    const stuck = [...this.stuck.values()];
    await this.parts.ledger
      .recordRun({ ...run, name, intervalMs, app: this.parts.app, host: hostname(), stuck }, { soon: hasChanged })
      .catch((error: Error) => this.logger.debug(`could not record the round: ${error.message}`));
  }
}
