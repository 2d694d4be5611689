import { type AgentStatus, agentStatuses } from '@muster/contracts';
import type { AgentEntity, Database } from '@muster/database';
import { statusListSql, onStatuses } from '../life/agent-life';

export interface MeasuredMachines {
  byStatus: Record<AgentStatus, number>;
  /** Number of machines that have been on without work for more than twice their idle limit, by the reason. */
  withoutWork: Record<'overdue' | 'pinned' | 'idle_stop_off', number>;
}

/** Counts the machines of all organizations by status, and the machines that are on without work. */
export async function readMachineMetrics(database: Database): Promise<MeasuredMachines> {
  const [statuses, idle] = await Promise.all([
    database.query<Pick<AgentEntity, 'status'> & { count: number }>(
      'system',
      'SELECT status, count(*)::int AS count FROM agent GROUP BY status',
      [],
      'count_machines',
    ),
    database.query<{ overdue: number; pinned: number; idleStopOff: number }>(
      'system',
      withoutWork,
      [],
      'machines_idle',
    ),
  ]);
  const { overdue, pinned, idleStopOff } = idle[0]!;
  const getStatusCount = (status: AgentStatus) => statuses.find((row) => row.status === status)?.count ?? 0;
  return {
    byStatus: Object.fromEntries(
      agentStatuses.map((status) => [status, getStatusCount(status)]),
    ) as MeasuredMachines['byStatus'],
    withoutWork: { overdue, pinned, idle_stop_off: idleStopOff },
  };
}

/** External machines are left out because the service cannot stop them. */
const withoutWork = `
  SELECT count(*) FILTER (WHERE NOT pinned AND auto_stop_enabled)::int AS overdue,
         count(*) FILTER (WHERE pinned)::int AS pinned,
         count(*) FILTER (WHERE NOT pinned AND NOT auto_stop_enabled)::int AS idle_stop_off
  FROM (
    SELECT a.idle_auto_stop_exempt AS pinned, s.auto_stop_enabled
    FROM agent a JOIN organization_settings s ON s.organization_id = a.organization_id
    WHERE a.status IN ${statusListSql(onStatuses)} AND a.provider <> 'external' AND a.current_job_id IS NULL
      AND a.autopilot_session_id IS NULL
      AND COALESCE(a.last_activity_at, a.status_since) < muster_now() - 2 * s.idle_stop_minutes * interval '1 minute'
      AND NOT EXISTS (SELECT FROM job j WHERE j.agent_id = a.id AND j.status = 'queued')) idle`;
