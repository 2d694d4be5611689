import { recordOrganizationEvent, type Transaction } from '@muster/database';
import { emitEvent } from '@muster/webhooks';
import type { ScheduleRow } from '../schedule-row';
import type { Outcome } from './tick-report';

/** Records the outcome of a scheduled time in the history and on the schedule. */
export function recordScheduledRunOutcome(
  tx: Transaction,
  { id, organizationId }: ScheduleRow,
  result: Outcome & { nominalAt: Date },
  { kind, now }: { kind: 'tick' | 'forced'; now: Date },
): void {
  const { outcome, nominalAt } = result;
  const { reason, detail } = outcome === 'launched' ? { reason: null, detail: null } : result;
  const jobId = outcome === 'launched' ? result.jobId : null;
  tx.deferStatement(
    `WITH ledger AS (
       INSERT INTO schedule_run
         (schedule_id, organization_id, nominal_at, kind, fired_at, outcome, reason, detail, job_id)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9))
     UPDATE schedule
     SET last_result = $6,
         last_run_at = CASE WHEN $6 = 'launched' THEN $5 ELSE last_run_at END,
         last_run_job_id = CASE WHEN $6 = 'launched' THEN $9 ELSE last_run_job_id END
     WHERE id = $1`,
    [id, organizationId, nominalAt, kind, now, outcome, reason, detail?.slice(0, 2000) ?? null, jobId],
    'record_schedule_run',
  );
  recordOrganizationEvent(tx, { organizationId, type: 'schedule', data: { scheduleId: id, outcome, reason, jobId } });
  if (outcome === 'launched') return;
  const details = { lastResult: outcome, reason, nominalAt: nominalAt.toISOString() };
  emitEvent(tx, { organizationId, type: `schedule.${outcome}`, subjects: [{ id, details }] });
}

/** Records the scheduled times that the misfire policy drops. */
export function recordMisfires(
  tx: Transaction,
  { id, organizationId, misfirePolicy }: ScheduleRow,
  times: Date[],
  now: Date,
): void {
  if (times.length === 0) return;
  tx.deferStatement(
    `WITH ledger AS (
       INSERT INTO schedule_run (schedule_id, organization_id, nominal_at, kind, fired_at, outcome, reason, detail)
       SELECT $1, $2, time, 'tick', $4, 'skipped', 'misfire', $5 FROM unnest($3::timestamptz[]) AS time
       ON CONFLICT DO NOTHING)
     UPDATE schedule SET last_result = 'skipped' WHERE id = $1`,
    [id, organizationId, times, now, `missed, and dropped by the misfire policy ${misfirePolicy}`],
    'record_misfires',
  );
  const misfire = { lastResult: 'skipped', reason: 'misfire' } as const;
  const events = times.map((time) => ({ id, details: { ...misfire, nominalAt: time.toISOString() } }));
  emitEvent(tx, { organizationId, type: 'schedule.skipped', subjects: events });
  const data = { scheduleId: id, outcome: 'skipped', reason: 'misfire', jobId: null };
  recordOrganizationEvent(tx, { organizationId, type: 'schedule', data });
}

export async function isRunRecorded(tx: Transaction, scheduleId: string, nominalAt: Date): Promise<boolean> {
  const rows = await tx.query(
    `SELECT FROM schedule_run WHERE schedule_id = $1 AND nominal_at = $2 AND kind = 'tick'`,
    [scheduleId, nominalAt],
    'schedule_run_recorded',
  );
  return rows.length > 0;
}

export function setNextRun(tx: Transaction, scheduleId: string, next: Date | null): void {
  tx.deferStatement('UPDATE schedule SET next_run_at = $2 WHERE id = $1', [scheduleId, next], 'set_next_run');
}
