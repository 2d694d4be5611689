import type { AgentStatus } from '@muster/contracts';
import { isOnStatus, type MoveOf, getOnStatus } from '../life/agent-life';

export interface HeartbeatFacts {
  status: AgentStatus;
  healthy: boolean;
  /** Number of unhealthy heartbeats in a row before this one (`unhealthyBefore`) and including it (`unhealthyNow`). */
  unhealthyBefore: number;
  unhealthyNow: number;
  drain: 'finish' | 'now' | null;
}

export type HeartbeatMove = MoveOf<'unhealthy' | 'recover'> & {
  reason: string;
  /** Whether the agent has recovered, which the timeline records. */
  recovered: boolean;
};

const unhealthyLimit = 3;

/** Decides whether a heartbeat changes the agent's status. Returns null for nearly every heartbeat. */
export function decideHeartbeatMove(facts: HeartbeatFacts): HeartbeatMove | null {
  const { status, healthy, unhealthyBefore, unhealthyNow, drain } = facts;
  if (!healthy && unhealthyNow >= unhealthyLimit && isOnStatus(status)) {
    return {
      move: 'unhealthy',
      to: 'offline',
      reason: `unhealthy ${unhealthyNow} times in a row`,
      recovered: false,
    };
  }
  // An agent that is starting was stopped or had been silent. Heartbeats of a boot that was stopped are rejected, so
  // this boot had only been silent.
  if (healthy && (status === 'offline' || status === 'starting')) {
    const reason =
      unhealthyBefore > 0 ? `healthy again after ${unhealthyBefore} unhealthy checks` : 'reports again after silence';
    return { move: 'recover', to: getOnStatus({ drain }), reason, recovered: true };
  }
  return null;
}
