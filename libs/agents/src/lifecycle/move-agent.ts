import type { AgentStatus, LifecycleEvent, LifecycleSource } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { appendTimeline, type TimelineEntry } from '../timeline/append-timeline';

export interface AgentMove {
  organizationId: string;
  agentId: string;
  from: readonly AgentStatus[];
  to: AgentStatus;
  source: LifecycleSource;
  reason: string;
  /** The lifecycle event that the move is, if it is one. */
  eventType?: LifecycleEvent;
}

/** Moves an agent from one of the states named, and tells its timeline. Null: it was in none of them. */
export async function moveAgent(tx: Transaction, move: AgentMove): Promise<{ previous: AgentStatus } | null> {
  const { organizationId, agentId, from, to, source, reason, eventType } = move;
  const [moved] = await tx.query<{ previous: AgentStatus; last_seen: Date | null; vm_state: string | null }>(
    `UPDATE agent SET status = $3, status_since = now(), status_source = $4, status_reason = $5,
       on_since = CASE WHEN $3 NOT IN ('stopped', 'terminated') THEN COALESCE(agent.on_since, now()) END
     FROM (SELECT id, status FROM agent WHERE id = $1 AND organization_id = $2 FOR UPDATE) AS was
     WHERE agent.id = was.id AND was.status = ANY($6)
     RETURNING was.status AS previous, agent.last_seen, agent.vm_state`,
    [agentId, organizationId, to, source, reason, from],
    'move_agent',
  );
  if (!moved) return null;
  const { previous } = moved;
  const entries: TimelineEntry[] = [];
  if (eventType) entries.push(lifecycleEntry({ eventType, source, reason, previous, current: to }));
  if (previous !== to) {
    entries.push({
      kind: 'status',
      source,
      message: `${previous} → ${to}: ${reason}`,
      data: { status: to, previousStatus: previous, lastSeen: moved.last_seen, vmState: moved.vm_state },
    });
  }
  appendTimeline(tx, { organizationId, agentId }, entries);
  tx.tell('agent', agentId);
  return { previous };
}

export interface LifecycleFacts {
  eventType: LifecycleEvent;
  source: LifecycleSource;
  reason: string;
  previous: AgentStatus;
  current: AgentStatus;
  jobId?: string;
}

/** An entry of a lifecycle event (interface, section 6), for those that are no move by themselves too. */
export function lifecycleEntry({ eventType, source, reason, previous, current, jobId }: LifecycleFacts): TimelineEntry {
  return {
    kind: 'lifecycle',
    source,
    level: failedEvents.has(eventType) ? 'warn' : 'info',
    message: reason,
    ...(jobId ? { jobId } : {}),
    data: { eventType, reason, previousStatus: previous, currentStatus: current },
  };
}

const failedEvents = new Set<LifecycleEvent>(['idle_stop_failed', 'wake_blocked', 'wake_timeout', 'wake_failed']);
