import type { AgentStatus } from '@muster/contracts';
import { isOn, type MoveOf, onStatusOf } from '../lifecycle/agent-life';

export interface HeartbeatFacts {
  status: AgentStatus;
  healthy: boolean;
  /** Consecutive unhealthy heartbeats before this one, and including it. */
  unhealthyBefore: number;
  unhealthyNow: number;
  drain: 'finish' | 'now' | null;
}

export type HeartbeatMove = MoveOf<'unhealthy' | 'recover'> & {
  reason: string;
  /** The agent has recovered; the timeline records it. */
  recovered: boolean;
};

const unhealthyLimit = 3;

/** Decides whether a heartbeat moves the agent. Returns null for nearly every heartbeat. */
export function decideHeartbeat(facts: HeartbeatFacts): HeartbeatMove | null {
  const { status, healthy, unhealthyBefore, unhealthyNow, drain } = facts;
  if (!healthy && unhealthyNow >= unhealthyLimit && isOn(status)) {
    return {
      move: 'unhealthy',
      to: 'offline',
      reason: `unhealthy ${unhealthyNow} times in a row`,
      recovered: false,
    };
  }
  // A starting agent was silent or stopped before. Reports of a stopped boot are rejected, so this boot had only been
  // silent.
  if (healthy && (status === 'offline' || status === 'starting')) {
    const reason =
      unhealthyBefore > 0 ? `healthy again after ${unhealthyBefore} unhealthy checks` : 'reports again after silence';
    return { move: 'recover', to: onStatusOf({ drain }), reason, recovered: true };
  }
  return null;
}
