import { Logger } from '@nestjs/common';
import type { AppName } from '@muster/contracts';
import { hostname } from 'node:os';
import type { Metrics } from '../operations/metrics';
import { Periodic } from '../operations/periodic';
import type { LoopLedger, LoopRun, StuckRow } from './loop-ledger';
import { Round } from './round';

export interface LoopSpec {
  /** Of no other loop in any app. */
  name: string;
  intervalMs: number;
  budgetMs?: number;
  /**
   * Where nothing was found and nobody published anything for a while, it comes only every fifth time: for what is told
   * of in nearly all cases, and looked for in case that it wasn't.
   */
  restsWhenQuiet?: boolean;
  /** One round; answers what it did. It must be safe on any number of replicas at once. */
  runOnce(round: Round): Promise<Record<string, number>>;
  /** In how long something is due before the interval is over; null where that is not known. */
  dueInMs?(): Promise<number | null>;
  /** For what has to end after the last round. */
  ended?(): Promise<void>;
}

export interface LoopParts {
  app: AppName;
  metrics: Metrics;
  ledger: LoopLedger;
}

/** A round that did nothing is written down this seldom. */
const quietMs = 10_000;
/** Without a find or a word for so long, a loop that may rests. */
const restAfterMs = 10_000;
const restFactor = 5;

/** A maintenance loop with its memory: where its sweeps go on, and what it fails at again and again. */
export class Loop {
  private readonly periodic: Periodic;
  private readonly logger: Logger;
  private readonly places = new Map<string, unknown>();
  private stuck = new Map<string, StuckRow>();
  private recordedAt = -Infinity;
  private busyAt = performance.now();
  private resting = false;

  constructor(
    private readonly spec: LoopSpec,
    private readonly parts: LoopParts,
  ) {
    this.logger = new Logger(spec.name);
    this.periodic = new Periodic({ ...spec, runOnce: () => this.runOnce(), nextInMs: () => this.nextInMs() });
  }

  start(): void {
    this.periodic.start();
  }

  async stop(): Promise<void> {
    await this.periodic.stop();
    await this.spec.ended?.();
  }

  /** Something happened somewhere: there may be something to find. */
  wake(): void {
    this.busyAt = performance.now();
    if (this.resting) this.periodic.hasten();
    this.resting = false;
  }

  private nextInMs(): number {
    const { intervalMs, restsWhenQuiet = false } = this.spec;
    this.resting = restsWhenQuiet && performance.now() - this.busyAt > restAfterMs;
    return this.resting ? intervalMs * restFactor : intervalMs;
  }

  async runOnce(): Promise<void> {
    const { name, budgetMs } = this.spec;
    const round = new Round(name, { budgetMs, places: this.places });
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
    // A round that broke off says nothing of the rows that it did not come to.
    if (error === null) this.remember(round, beganAt);
    const durationMs = performance.now() - began;
    this.measure(counts, { failed: round.failed, durationMs, outcome: error === null ? 'done' : 'failed' });
    await this.record({ beganAt, durationMs, counts, failed: round.failed, error }, did);
  }

  private remember(round: Round, now: Date): void {
    const still = new Map<string, StuckRow>();
    for (const { row, error } of round.failures) {
      const known = this.stuck.get(row);
      still.set(row, { row, error, since: known?.since ?? now, times: (known?.times ?? 0) + 1 });
    }
    // Those that it had no time for are not settled yet.
    const isOpen = (row: string) => this.places.size > 0 || round.untried.has(row);
    for (const [row, known] of this.stuck) if (!still.has(row) && isOpen(row)) still.set(row, known);
    this.stuck = new Map([...still].slice(0, 50));
  }

  private measure(
    counts: Record<string, number>,
    { failed, durationMs, outcome }: { failed: number; durationMs: number; outcome: 'done' | 'failed' },
  ): void {
    const { name: loop } = this.spec;
    const { loopSeconds, loopRows, loopStuckRows } = this.parts.metrics;
    loopSeconds.observe({ loop, outcome }, durationMs / 1000);
    for (const [what, count] of Object.entries(counts)) loopRows.inc({ loop, outcome: what }, count);
    loopRows.inc({ loop, outcome: 'unsettled' }, failed);
    loopStuckRows.set({ loop }, this.stuck.size);
  }

  private async record(run: Pick<LoopRun, 'beganAt' | 'durationMs' | 'counts' | 'failed' | 'error'>, did: boolean) {
    const hasChanged = did || run.failed > 0 || run.error !== null;
    if (!hasChanged && performance.now() - this.recordedAt < quietMs) return;
    this.recordedAt = performance.now();
    const { name, intervalMs } = this.spec;
    const stuck = [...this.stuck.values()];
    await this.parts.ledger
      .record({ ...run, name, intervalMs, app: this.parts.app, host: hostname(), stuck }, { soon: hasChanged })
      .catch((error: Error) => this.logger.debug(`could not record the round: ${error.message}`));
  }
}
