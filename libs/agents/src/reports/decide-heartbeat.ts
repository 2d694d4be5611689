import type { AgentStatus } from '@muster/contracts';
import { isOn, type MoveOf, onStatusOf } from '../lifecycle/agent-life';

export interface HeartbeatFacts {
  status: AgentStatus;
  healthy: boolean;
  /** In a row, before this heartbeat and with it. */
  unhealthyBefore: number;
  unhealthyNow: number;
  drain: 'finish' | 'now' | null;
}

export type HeartbeatMove = MoveOf<'unhealthy' | 'recover'> & {
  reason: string;
  /** The assistant has mended something, and says so. */
  recovered: boolean;
};

const unhealthyLimit = 3;

/** What a heartbeat changes beyond the times it notes; null for nearly every one. */
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
  // One that is being woken was silent or stopped, and a boot that was stopped is not heard: so this one is back.
  if (healthy && (status === 'offline' || status === 'starting')) {
    const reason =
      unhealthyBefore > 0 ? `healthy again after ${unhealthyBefore} unhealthy checks` : 'reports again after silence';
    return { move: 'recover', to: onStatusOf({ drain }), reason, recovered: true };
  }
  return null;
}
