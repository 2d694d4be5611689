import type { ScheduleTicks, SkipReason } from '@muster/contracts';

/** Result of a tick, or of a request to execute schedules. */
export interface TickReport {
  dryRun: boolean;
  /** Number of due schedules that the tick checked. */
  scanned: number;
  launched: { scheduleId: string; jobId: string | null; nominalAt: Date }[];
  skipped: { scheduleId: string; reason: SkipReason; nominalAt: Date | null }[];
  failed: { scheduleId: string; reason: string; detail: string; nominalAt: Date | null }[];
}

export function createEmptyReport(dryRun: boolean): TickReport {
  return { dryRun, scanned: 0, launched: [], skipped: [], failed: [] };
}

/** Result of one transaction of a tick for a schedule. */
export type Outcome =
  | { outcome: 'launched'; jobId: string | null; nominalAt: Date }
  | { outcome: 'skipped'; reason: SkipReason; detail: string | null; nominalAt: Date | null }
  | { outcome: 'failed'; reason: string; detail: string; nominalAt: Date | null };

export function addOutcomeToReport(report: TickReport, scheduleId: string, outcome: Outcome): void {
  const { nominalAt } = outcome;
  switch (outcome.outcome) {
    case 'launched':
      report.launched.push({ scheduleId, jobId: outcome.jobId, nominalAt: outcome.nominalAt });
      break;
    case 'skipped':
      report.skipped.push({ scheduleId, reason: outcome.reason, nominalAt });
      break;
    case 'failed':
      report.failed.push({ scheduleId, reason: outcome.reason, detail: outcome.detail, nominalAt });
  }
}

/** Presents a report for the responses of the gateway and the scheduler. */
export function presentTicks({ dryRun, scanned, launched, skipped, failed }: TickReport): ScheduleTicks {
  return {
    dryRun,
    scanned,
    launched: launched.map((tick) => ({ ...tick, nominalAt: tick.nominalAt.toISOString() })),
    skipped: skipped.map((tick) => ({ ...tick, nominalAt: tick.nominalAt?.toISOString() ?? null })),
    failed: failed.map((tick) => ({ ...tick, nominalAt: tick.nominalAt?.toISOString() ?? null })),
  };
}
