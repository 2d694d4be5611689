import type { AgentProvider, AgentStatus } from '@muster/contracts';
import type { ScheduleEntity, Transaction } from '@muster/database';
import { decideBillingGate, billingGateColumnsSql, type GateFacts } from '@muster/pricing';
import type { GuardFacts } from './decide-tick';
import type { ScheduleRow } from '../schedule-row';

export type GuardRow = GateFacts &
  Pick<ScheduleEntity, 'concurrencyLimit' | 'idempotencyWindowMinutes'> & {
    autoWake: boolean;
    /** Whether an agent fits the target; null if the schedule names its agent. */
    targetFits: boolean | null;
    status: AgentStatus | null;
    provider: AgentProvider;
    drain: 'finish' | 'now' | null;
    runsOfSchedule: number;
    lastLaunchedAt: Date | null;
    missingSecrets: string[];
  };

/** SQL for the month in which a time is billed. */
const billingMonthSql = (at: string) => `date_trunc('month', ${at} AT TIME ZONE 'UTC')::date`;

/** SQL columns that the guards need of a schedule `r`, for a run at a time. */
export const scheduleGuardColumnsSql = (at: string) => `
  ${billingGateColumnsSql(billingMonthSql(at))}, r.concurrency_limit, r.idempotency_window_minutes, s.vm_auto_wake_on_job AS auto_wake, a.status,
  CASE WHEN r.target_labels IS NOT NULL THEN EXISTS (
    SELECT FROM agent f WHERE f.organization_id = o.id AND f.status <> 'terminated' AND f.labels @> r.target_labels) END
    AS target_fits,
  a.provider, a.drain,
  (SELECT count(*)::int FROM job j WHERE j.schedule_id = r.id AND j.status IN ('queued', 'running'))
    AS runs_of_schedule,
  CASE WHEN r.idempotency_window_minutes IS NOT NULL THEN
    (SELECT l.fired_at FROM schedule_run l WHERE l.schedule_id = r.id AND l.outcome = 'launched'
     ORDER BY l.schedule_id DESC, l.fired_at DESC LIMIT 1) END AS last_launched_at,
  ARRAY(SELECT name FROM unnest(r.vault_keys) AS name WHERE NOT EXISTS
    (SELECT FROM vault_secret v WHERE v.organization_id = o.id AND v.key = name)) AS missing_secrets`;

/** SQL joins for `scheduleGuardColumnsSql`. The usage counter is that of the month of the run. */
export function scheduleGuardTablesSql(at: string): string {
  return `
  JOIN organization o ON o.id = r.organization_id
  JOIN organization_settings s ON s.organization_id = o.id
  LEFT JOIN usage_counter c ON c.organization_id = o.id AND c.month = ${billingMonthSql(at)}
  LEFT JOIN agent a ON a.id = r.agent_id AND a.organization_id = o.id`;
}

const guardFactsSql = `
  SELECT ${scheduleGuardColumnsSql('$3::timestamptz')} FROM schedule r ${scheduleGuardTablesSql('$3::timestamptz')}
  WHERE r.id = $1 AND r.organization_id = $2`;

/** Reads all facts that the guards need in one statement. */
export async function readScheduleGuardFacts(
  tx: Transaction,
  { id, organizationId }: ScheduleRow,
  { now, force }: { now: Date; force: boolean },
): Promise<GuardFacts> {
  const [row] = await tx.query<GuardRow>(guardFactsSql, [id, organizationId, now], 'schedule_guard_facts');
  if (!row) throw new Error(`schedule ${id} has no organization`);
  return toScheduleGuardFacts(row, { force });
}

export function toScheduleGuardFacts(row: GuardRow, { force }: { force: boolean }): GuardFacts {
  const { status, provider, drain, autoWake, runsOfSchedule: openRuns, lastLaunchedAt, missingSecrets, ...rest } = row;
  const { concurrencyLimit, idempotencyWindowMinutes, targetFits, ...gate } = rest;
  return {
    concurrencyLimit,
    openRuns,
    idempotencyWindowMinutes,
    lastLaunchedAt,
    gate: decideBillingGate(gate),
    agent: status ? { status, provider, drain } : null,
    targetFits,
    autoWake,
    missingSecrets,
    force,
  };
}
