import { audit } from '@muster/access';
import type { AgentStatus, LifecycleEvent, LifecycleSource } from '@muster/contracts';
import type { AgentEntity, Transaction } from '@muster/database';
import { emitEvent } from '@muster/webhooks';
import { startOrEndIdleTime } from './start-or-end-idle-time';
import { statusListSql, isOffStatus, type MoveOf, offStatuses, listAllowedOrigins } from './agent-life';
import { appendTimeline, type TimelineEntry } from '@muster/timeline';
import { appendEndedBootSql } from './ended-boots';

type AgentMove = MoveOf & {
  organizationId: string;
  agentId: string;
  source: LifecycleSource;
  reason: string;
  /** Name of the service's loop that moves the agent, for the audit row; by default `source`. */
  by?: string;
};

/**
 * Sources whose moves need no audit row here: the action of a user writes its own audit row, and a report of the
 * machine is on the agent's timeline.
 */
const auditedElsewhere: ReadonlySet<LifecycleSource> = new Set(['api', 'console', 'handshake']);

const actions: Partial<Record<AgentStatus, string>> = {
  starting: 'agent.start',
  stopping: 'agent.stop',
  rebooting: 'agent.reboot',
  terminated: 'agent.terminate',
};

/**
 * Moves an agent to another status and records the move on the agent's timeline. A move by the service itself is also
 * recorded in the audit log. Returns null if the agent's current status does not allow the move.
 */
export async function setAgentStatus(tx: Transaction, move: AgentMove): Promise<{ previous: AgentStatus } | null> {
  const { organizationId, agentId, to, source, reason, eventType } = move;
  const [moved] = await tx.query<
    Pick<AgentEntity, 'lastSeen' | 'vmState' | 'autopilotSessionId'> & { previous: AgentStatus }
  >(
    `UPDATE agent SET status = $3, status_since = muster_now(), status_source = $4,
       -- The reason for the stop is more useful than the report that the stop succeeded.
       status_reason = CASE WHEN $3 = 'stopped' AND was.status = 'stopping' THEN COALESCE(NULLIF(was.status_reason, ''), $5) ELSE $5 END,
       on_since = CASE WHEN $3 NOT IN ${statusListSql(offStatuses)} THEN COALESCE(agent.on_since, muster_now()) END,
       previous_status = CASE WHEN was.status <> $3 THEN was.status ELSE agent.previous_status END,
       ended_boots = CASE WHEN $3 = 'stopped' THEN ${appendEndedBootSql('agent')} ELSE agent.ended_boots END
     FROM (SELECT id, status, status_reason FROM agent WHERE id = $1 AND organization_id = $2 FOR UPDATE) AS was
     WHERE agent.id = was.id AND was.status = ANY($6)
     RETURNING was.status AS previous, agent.last_seen, agent.vm_state, agent.autopilot_session_id`,
    [agentId, organizationId, to, source, reason, listAllowedOrigins(move)],
    'move_agent',
  );
  if (!moved) return null;
  const { previous } = moved;
  if (isOffStatus(previous) !== isOffStatus(to)) startOrEndIdleTime(tx, agentId, !isOffStatus(to));
  const sessionId = moved.autopilotSessionId;
  // The machine is off, so the browser of an ending autopilot session is closed too. The session is advanced, so that
  // it ends.
  if (sessionId && isOffStatus(to))
    await tx.enqueue({ queue: 'autopilot', name: 'advance-session', payload: { sessionId } });
  const entries: TimelineEntry[] = [];
  if (eventType) entries.push(buildLifecycleEntry({ eventType, source, reason, previous, current: to }));
  if (previous !== to) {
    entries.push({
      kind: 'status',
      source,
      message: `${previous} → ${to}: ${reason}`,
      data: { status: to, previousStatus: previous, reason, lastSeen: moved.lastSeen, vmState: moved.vmState },
    });
  }
  appendTimeline(tx, { organizationId, agentId }, entries);
  if (!auditedElsewhere.has(source)) {
    const actor = { kind: 'system', id: move.by ?? source, organizationId } as const;
    const changes = { status: [previous, to], reason };
    audit(tx, actor, { action: actions[to] ?? `agent.${to}`, target: { type: 'agent', id: agentId }, changes });
  }
  tx.notify('agent', agentId);
  if (previous !== to && emitsWebhookEvent(to)) {
    emitEvent(tx, { organizationId, type: `agent.${to}`, subjects: [{ id: agentId, details: { status: to } }] });
  }
  if (eventType && failedWakes.has(eventType)) emitWakeFailedEvent(tx, { organizationId, agentId, status: to });
  return { previous };
}

function emitsWebhookEvent(status: AgentStatus): status is 'online' | 'offline' | 'stopped' {
  return status === 'online' || status === 'offline' || status === 'stopped';
}

const failedWakes = new Set<LifecycleEvent>(['wake_failed', 'wake_timeout']);

/** Emits the webhook event for a machine that did not start, or did not start in time. */
export function emitWakeFailedEvent(
  tx: Transaction,
  { organizationId, agentId, status }: Pick<AgentMove, 'organizationId' | 'agentId'> & { status: AgentStatus },
): void {
  emitEvent(tx, { organizationId, type: 'agent.wake_failed', subjects: [{ id: agentId, details: { status } }] });
}

export interface LifecycleFacts {
  eventType: LifecycleEvent;
  source: LifecycleSource;
  reason: string;
  previous: AgentStatus;
  current: AgentStatus;
  jobId?: string;
  data?: Record<string, unknown>;
}

/**
 * Returns the timeline entry of a lifecycle event (interface, section 6). Some lifecycle events, such as wake_blocked,
 * change no status.
 */
export function buildLifecycleEntry(facts: LifecycleFacts): TimelineEntry {
  const { eventType, source, reason, previous, current, jobId, data } = facts;
  return {
    kind: 'lifecycle',
    source,
    level: failedEvents.has(eventType) ? 'warn' : 'info',
    message: reason,
    ...(jobId ? { jobId } : {}),
    data: { ...data, eventType, reason, previousStatus: previous, currentStatus: current },
  };
}

const failedEvents = new Set<LifecycleEvent>(['idle_stop_failed', 'wake_blocked', 'wake_timeout', 'wake_failed']);
