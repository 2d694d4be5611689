import type { Actor } from '@muster/access';
import { AppError } from '@muster/contracts';
import { type Database, isDatabaseUnavailable, requireReleasedRecovery, type Transaction } from '@muster/database';
import { runInSpan } from '@muster/platform';
import type { KeyRing } from '@muster/vault';
import { parseCron } from '../cron/cron-rule';
import { decideScheduledRun, decideScheduleTick } from './decide-tick';
import { readScheduleGuardFacts } from './guard-facts';
import { launchScheduledRun } from './launch-scheduled-run';
import { type Due, scanDueSchedules } from './scan-due-schedules';
import { findSchedule, type ScheduleRow, tryLockSchedule } from '../schedule-row';
import { isRunRecorded, recordMisfires, recordScheduledRunOutcome, setNextRun } from './tick-ledger';
import { createEmptyReport, addOutcomeToReport, type Outcome, type TickReport } from './tick-report';

export interface TickRequest {
  now: Date;
  /** Only the schedules of this organization; all organizations if absent. */
  organizationId?: string;
  /** Only this schedule. If it is not due, the report says so. Requires `organizationId`. */
  scheduleId?: string;
  /** Maximum number of due schedules that the tick processes. */
  limit: number;
  /** Time in ms after which no further schedule is processed. */
  budgetMs?: number;
  /** Whether the report only describes what would happen; nothing is changed. */
  dryRun?: boolean;
  /** Actor of the launches; the service itself if absent. */
  actor?: Actor;
  /** While another process scans: `wait` for it, or `leave` the scan to it. */
  whenScanned: 'wait' | 'leave';
  /** Seals the sensitive variables of runs. */
  keyRing?: KeyRing;
}

interface Tick extends TickRequest {
  missedUntil: Date | null;
}

/** Number of schedules processed concurrently; small, so that a tick leaves connections for other work. */
const concurrency = 3;
const batchSize = 100;

/**
 * Runs due schedules. The service's own tick, /api/cron/scheduled-runs and POST /api/schedules/execute all use this
 * function. Only scans exclude each other. Each run of a due schedule is processed in a separate transaction that locks
 * the schedule and reads it again. So each scheduled time is processed once, no matter how many ticks run at the same
 * time, and work that a crash interrupts is still due.
 */
export async function runDueSchedules(database: Database, input: TickRequest): Promise<TickReport> {
  const recovery = await requireReleasedRecovery(database);
  const request: Tick = { ...input, missedUntil: recovery && !recovery.fireMissed ? recovery.releasedAt : null };
  const report = createEmptyReport(request.dryRun ?? false);
  const processDueSchedule = async (due: Pick<Due, 'id' | 'organizationId'>) => {
    report.scanned += 1;
    await processSchedule(database, due, request, (outcome) => addOutcomeToReport(report, due.id, outcome));
  };
  if (request.scheduleId) {
    const { id, organizationId } = await findSchedule(database, request.organizationId!, request.scheduleId);
    await processDueSchedule({ id, organizationId });
    return report;
  }
  const end = request.budgetMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + request.budgetMs;
  let after: Due | undefined;
  while (report.scanned < request.limit && performance.now() < end) {
    const limit = Math.min(batchSize, request.limit - report.scanned);
    const batch = await scanDueSchedules(database, request, { after, limit });
    const waiting = [...batch];
    const processDueSchedules = async () => {
      for (let due = waiting.shift(); due && performance.now() < end; due = waiting.shift())
        await processDueSchedule(due);
    };
    await Promise.all(Array.from({ length: concurrency }, processDueSchedules));
    if (batch.length < limit) break;
    // Continue after the last schedule of the page, so that a schedule that could not be processed does not block the
    // others.
    after = batch.at(-1);
  }
  return report;
}

/** Processes a schedule's times up to now. An error of one schedule does not affect the others. */
async function processSchedule(
  database: Database,
  due: Pick<Due, 'id' | 'organizationId'>,
  request: Tick,
  report: (outcome: Outcome) => void,
): Promise<void> {
  const scope = { organizationId: due.organizationId };
  if (request.dryRun) {
    const schedule = await findSchedule(database, due.organizationId, due.id);
    return database.transaction(scope, (tx) => previewTickOfSchedule(tx, schedule, request, report));
  }
  try {
    for (let more = true, first = true; more; first = false) {
      // Each run gets a trace of its own, unless the tick is part of a request.
      const processNextStep = () => database.transaction(scope, (tx) => processNextRun(tx, due, request));
      const step = await runInSpan(
        { name: 'schedule run', attributes: { 'muster.schedule_id': due.id } },
        processNextStep,
      );
      for (const outcome of step.outcomes) if (first || outcome.nominalAt) report(outcome);
      more = step.more;
    }
  } catch (error) {
    report(await recordFailedRun(database, due, request.now, error as Error));
  }
}

interface Step {
  outcomes: Outcome[];
  /** Whether there may be more scheduled times to process. */
  more: boolean;
}

/** Processes the next run of a schedule, and the times that were missed before it. */
async function processNextRun(
  tx: Transaction,
  { id, organizationId }: Pick<Due, 'id' | 'organizationId'>,
  { now, missedUntil, keyRing, actor = { kind: 'system', id: 'schedules', organizationId } }: Tick,
): Promise<Step> {
  const schedule = await tryLockSchedule(tx, organizationId, id);
  if (!schedule) return createSkipStep('locked');
  const decision = decideScheduleTick({ ...schedule, missedUntil, rule: parseCron(schedule.cronExpression) }, now);
  if (!decision.due) return createSkipStep(decision.reason);
  const { dropped, run, next } = decision;
  const outcomes: Outcome[] = [];
  tx.onCommitMeasure(({ scheduleLateness, levels }) => {
    for (const at of [...dropped, ...(run ? [run] : [])]) {
      const seconds = (now.getTime() - at.getTime()) / 1000;
      scheduleLateness.observe(seconds);
      levels.countEvent('schedules', seconds);
    }
  });
  recordMisfires(tx, schedule, dropped, now);
  if (dropped.length) outcomes.push(createMisfireOutcome(dropped));
  if (run && !(await isRunRecorded(tx, id, run))) {
    const outcome = await launchScheduledRun(tx, schedule, { now, nominalAt: run, actor, keyRing });
    recordScheduledRunOutcome(tx, schedule, { ...outcome, nominalAt: run }, { kind: 'tick', now });
    outcomes.push(outcome);
  }
  setNextRun(tx, id, next);
  return { outcomes, more: next !== null && next <= now };
}

function createSkipStep(reason: 'locked' | 'not_due' | 'disabled'): Step {
  return { outcomes: [{ outcome: 'skipped', reason, detail: null, nominalAt: null }], more: false };
}

function createMisfireOutcome(dropped: Date[]): Outcome {
  return { outcome: 'skipped', reason: 'misfire', detail: null, nominalAt: dropped.at(-1)! };
}

/** Reports what a tick would do, run by run, as if each launched run stayed open. */
async function previewTickOfSchedule(
  tx: Transaction,
  schedule: ScheduleRow,
  { now, missedUntil }: Tick,
  report: (outcome: Outcome) => void,
): Promise<void> {
  const facts = await readScheduleGuardFacts(tx, schedule, { now, force: false });
  let nextRunAt = schedule.nextRunAt;
  do {
    const decision = decideScheduleTick(
      { ...schedule, missedUntil, nextRunAt, rule: parseCron(schedule.cronExpression) },
      now,
    );
    if (!decision.due) return report({ outcome: 'skipped', reason: decision.reason, detail: null, nominalAt: null });
    const { dropped, run, next } = decision;
    if (dropped.length) report(createMisfireOutcome(dropped));
    if (run) {
      const guard = decideScheduledRun(facts, now);
      if (guard.launch) {
        report({ outcome: 'launched', jobId: null, nominalAt: run });
        facts.openRuns += 1;
        facts.lastLaunchedAt = now;
      } else report({ outcome: 'skipped', reason: guard.reason, detail: guard.detail, nominalAt: run });
    }
    nextRunAt = next;
  } while (nextRunAt && nextRunAt <= now);
}

/**
 * Records a failed run, so that the schedule continues with its next time. If the database caused the failure, nothing
 * is recorded and the run is still due.
 */
async function recordFailedRun(
  database: Database,
  { id, organizationId }: Pick<Due, 'id' | 'organizationId'>,
  now: Date,
  error: Error,
): Promise<Outcome> {
  const reason =
    error instanceof AppError ? error.code : isTransientError(error) ? 'service_unavailable' : 'internal_error';
  const failed = { outcome: 'failed' as const, reason, detail: error.message };
  if (isTransientError(error)) return { ...failed, nominalAt: null };
  try {
    return await database.transaction({ organizationId }, async (tx) => {
      const schedule = await tryLockSchedule(tx, organizationId, id);
      if (!schedule?.nextRunAt || schedule.nextRunAt > now) return { ...failed, nominalAt: null };
      const { run, next } = findFailedTime(schedule, now);
      const outcome = { ...failed, nominalAt: run };
      if (!(await isRunRecorded(tx, id, run))) recordScheduledRunOutcome(tx, schedule, outcome, { kind: 'tick', now });
      setNextRun(tx, id, next);
      return outcome;
    });
  } catch (failure) {
    return {
      ...failed,
      detail: `${error.message}; the failure could not be recorded: ${(failure as Error).message}`,
      nominalAt: null,
    };
  }
}

/** Returns the time that failed and the time to continue with; `next` is null if the schedule itself cannot be read. */
function findFailedTime(schedule: ScheduleRow, now: Date): { run: Date; next: Date | null } {
  try {
    const decision = decideScheduleTick({ ...schedule, rule: parseCron(schedule.cronExpression) }, now);
    if (decision.due) return { run: decision.run ?? schedule.nextRunAt!, next: decision.next };
  } catch {
    // The expression or the timezone is not valid for this version, although it was valid when the schedule was saved.
  }
  return { run: schedule.nextRunAt!, next: null };
}

function isTransientError(error: Error): boolean {
  return isDatabaseUnavailable(error) || /^(40|55)/.test((error as { code?: string }).code ?? '');
}
