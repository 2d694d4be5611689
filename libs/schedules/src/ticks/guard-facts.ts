import type { AgentProvider, AgentStatus } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { canLaunchRuns, gateColumns, type GateFacts, monthOf } from '@muster/pricing';
import type { GuardFacts } from './decide-tick';
import type { ScheduleRow } from '../schedule-row';

type Row = GateFacts & {
  autoWake: boolean;
  status: AgentStatus | null;
  provider: AgentProvider;
  drain: 'finish' | 'now' | null;
  runsOfSchedule: number;
  lastLaunchedAt: Date | null;
  missingSecrets: string[];
};

/** All that the guards look at, in one round trip. */
export async function readGuardFacts(
  tx: Transaction,
  schedule: ScheduleRow,
  { now, force }: { now: Date; force: boolean },
): Promise<GuardFacts> {
  const { concurrencyLimit, idempotencyWindowMinutes } = schedule;
  const [row] = await tx.query<Row>(
    `SELECT ${gateColumns}, s.vm_auto_wake_on_job AS auto_wake, a.status, a.provider, a.drain,
            (SELECT count(*)::int FROM job j WHERE j.schedule_id = $3 AND j.status IN ('queued', 'running'))
              AS runs_of_schedule,
            (SELECT max(r.fired_at) FROM schedule_run r WHERE r.schedule_id = $3 AND r.outcome = 'launched')
              AS last_launched_at,
            ARRAY(SELECT name FROM unnest($5::text[]) AS name WHERE NOT EXISTS
              (SELECT FROM vault_secret v WHERE v.organization_id = o.id AND v.key = name)) AS missing_secrets
     FROM organization o
     JOIN organization_settings s ON s.organization_id = o.id
     LEFT JOIN usage_counter c ON c.organization_id = o.id AND c.month = $2
     LEFT JOIN agent a ON a.id = $4 AND a.organization_id = o.id
     WHERE o.id = $1`,
    [schedule.organizationId, monthOf(now), schedule.id, schedule.agentId, schedule.vaultKeys],
    'schedule_guard_facts',
  );
  if (!row) throw new Error(`schedule ${schedule.id} has no organization`);
  const { status, provider, drain, autoWake, runsOfSchedule: openRuns, lastLaunchedAt, missingSecrets, ...gate } = row;
  return {
    concurrencyLimit,
    openRuns,
    idempotencyWindowMinutes,
    lastLaunchedAt,
    gate: canLaunchRuns(gate),
    agent: status ? { status, provider, drain } : null,
    autoWake,
    missingSecrets,
    force,
  };
}
