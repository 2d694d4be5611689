import { type AgentStatus, type HeartbeatAnswer, type HeartbeatBody, agentNotFoundError } from '@muster/contracts';
import type { AgentEntity, Database, Transaction } from '@muster/database';
import { isUuid } from '@muster/platform';
import { checksUntilAttempt } from '../recovery/decide-recovery';
import { endRecovery } from '../recovery/start-recovery';
import { setAgentStatus } from '../life/set-agent-status';
import { completeWake } from '../life/wakes';
import { appendTimeline } from '@muster/timeline';
import { decideHeartbeatMove, type HeartbeatMove } from './decide-heartbeat-move';
import type { OnReachable } from './record-handshake';
import { machineRefusedError } from '../registry/machine-caller';
import { parseTunnelUrl } from './tunnel-url';

interface Beat extends Pick<AgentEntity, 'status' | 'bootId' | 'drain'> {
  unhealthyBefore: AgentEntity['unhealthyChecks'];
  /**
   * Number of unhealthy heartbeats in a row, including this one. Null if the heartbeat is not from the agent's current
   * boot, or the agent is terminated.
   */
  unhealthyNow: number | null;
  recoveryChecks: number | null;
  /** Whether auto-recovery had tried a step before this heartbeat. */
  recovering: boolean;
  pendingCommands: number;
  abandon: string[];
  tunnelFails: boolean;
}

/**
 * Records a heartbeat with one statement, because a thousand machines may report every few seconds. A transaction is
 * used only if the heartbeat changes more, such as the agent's status.
 */
export async function recordHeartbeat(
  database: Database,
  organizationId: string,
  body: HeartbeatBody,
  /** `from`: the address from which the heartbeat came. */
  { now, from, onReachable }: { now: Date; from?: string; onReachable: OnReachable },
): Promise<HeartbeatAnswer> {
  const { agentId, bootId, vmState, vmIp, workerVersion, activity } = body;
  const healthy = body.healthy ?? true;
  const reportedIds = body.runningJobIds ?? [];
  const running = reportedIds.filter(isUuid);
  const [beat] = await database.query<Beat>(
    { organizationId },
    heartbeat,
    [
      agentId,
      organizationId,
      bootId,
      parseTunnelUrl(body.tunnelHostname),
      body.tunnelHostname ?? null,
      vmState ?? null,
      vmIp ?? null,
      workerVersion ?? null,
      healthy,
      activity === true,
      running,
      from ?? null,
    ],
    'heartbeat',
  );
  if (!beat) throw agentNotFoundError();
  const { status, unhealthyBefore, unhealthyNow, drain, pendingCommands } = beat;
  if (status === 'terminated')
    throw machineRefusedError('The agent is terminated. Stop this worker, or install it for another agent.', status);
  if (unhealthyNow === null) {
    throw machineRefusedError(
      'This boot id is not the agent’s current one. Handshake first, with a new boot id if the service stopped or ' +
        'rebooted the machine.',
      status,
    );
  }
  const agentRef = { organizationId, agentId };
  if (healthy && beat.recovering) await database.transaction({ organizationId }, (tx) => endRecovery(tx, agentRef));
  const move = decideHeartbeatMove({ status, healthy, unhealthyBefore, unhealthyNow, drain });
  const moved = move
    ? await database.transaction({ organizationId }, (tx) => applyHeartbeatMove(tx, agentRef, move, onReachable))
    : null;
  // Every third unhealthy heartbeat in a row enqueues another recovery attempt, because an attempt may be allowed now.
  const checks = beat.recoveryChecks ?? 0;
  if (checks > 0 && checks % checksUntilAttempt === 0) {
    await database.transaction({ organizationId }, (tx) =>
      tx.enqueue({ queue: 'dispatch', name: 'recover-agent', payload: { agentId } }),
    );
  }
  const abandon = [...beat.abandon, ...reportedIds.filter((id) => !isUuid(id))];
  const answer = { status: moved ?? status, serverTime: now.toISOString(), pendingCommands, abandon };
  return beat.tunnelFails ? { ...answer, tunnel: 'unreachable' } : answer;
}

/**
 * SQL condition: the heartbeat reports work. A worker reports a job until it receives the response to the job's end, so
 * a heartbeat can name a job that has just ended. Such a heartbeat updates the time of the last activity, but the
 * activity stays the end of the run. The condition reads only the agent's row, which Postgres reads again after waiting
 * for its lock.
 */
const isAtWork = '$10 OR current_job_id = ANY($11)';

// All parts of the statement see the same snapshot, so the agent's selected columns have the values from before the
// update.
const heartbeat = `
  WITH beat AS (
    UPDATE agent SET
      last_seen = muster_now(),
      last_activity_at = CASE WHEN $10 OR cardinality($11::uuid[]) > 0 THEN muster_now() ELSE last_activity_at END,
      last_activity = CASE WHEN ${isAtWork} THEN 'a heartbeat that reported work' ELSE last_activity END,
      tunnel_url = COALESCE($4, tunnel_url),
      public_tunnel_url = COALESCE($4, public_tunnel_url),
      tunnel_hostname = COALESCE($5, tunnel_hostname),
      seen_from = COALESCE($12, seen_from),
      vm_state = COALESCE($6, vm_state),
      vm_ip = COALESCE($7, vm_ip),
      worker_version = COALESCE($8, worker_version),
      unhealthy_checks = CASE WHEN $9 THEN 0 ELSE unhealthy_checks + 1 END,
      recovery_checks = CASE WHEN $9 THEN 0 ELSE recovery_checks + 1 END
    WHERE id = $1 AND organization_id = $2 AND boot_id = $3 AND status <> 'terminated'
      AND NOT $3 = ANY(ended_boots)
    RETURNING unhealthy_checks, recovery_checks)
  SELECT a.status, a.boot_id, a.drain, a.unhealthy_checks AS unhealthy_before,
         (SELECT unhealthy_checks FROM beat) AS unhealthy_now,
         (SELECT recovery_checks FROM beat) AS recovery_checks, a.recovery_step IS NOT NULL AS recovering,
         (SELECT count(*)::int FROM agent_command c
          WHERE c.agent_id = a.id AND c.status = 'pending' AND c.taken_at IS NULL AND c.deadline > muster_now())
           AS pending_commands,
         ARRAY(
           SELECT reported.id::text FROM unnest($11::uuid[]) AS reported (id)
           WHERE NOT EXISTS (
             SELECT FROM job j
             WHERE j.id = reported.id AND j.agent_id = a.id AND j.organization_id = a.organization_id
               AND j.status IN ('queued', 'running'))) AS abandon,
         COALESCE(a.unreachable_tunnel = COALESCE($4, a.public_tunnel_url, a.tunnel_url), false) AS tunnel_fails
  FROM agent a WHERE a.id = $1 AND a.organization_id = $2`;

async function applyHeartbeatMove(
  tx: Transaction,
  agentRef: { organizationId: string; agentId: string },
  { reason, recovered, ...moved }: HeartbeatMove,
  onReachable: OnReachable,
): Promise<AgentStatus | null> {
  if (!(await setAgentStatus(tx, { ...agentRef, ...moved, source: 'heartbeat', reason }))) return null;
  if (recovered) {
    // A heartbeat shows that the machine is running, so its open wake is complete.
    await completeWake(tx, agentRef);
    const note = {
      kind: 'provisioning' as const,
      source: 'heartbeat',
      message: `Auto-recovery: the agent ${reason}; commands and queued jobs continue`,
      data: { autoRecovery: true, reason },
    };
    appendTimeline(tx, agentRef, [note]);
    await onReachable(tx, agentRef, { sameBoot: true });
  }
  return moved.to;
}
