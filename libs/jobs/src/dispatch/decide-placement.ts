import type { TargetPreference, WaitingReason } from '@muster/contracts';

/** How many agents have the labels of a job, and what they do. */
export interface FitCounts {
  fits: number;
  busy: number;
  waking: number;
  draining: number;
  off: number;
}

const noAgents: FitCounts = { fits: 0, busy: 0, waking: 0, draining: 0, off: 0 };

export interface PlacementFacts {
  prefer: TargetPreference;
  /** Fitting agents that are online and idle, in any order. */
  idle: { agentId: string; lastActivityMs: number | null }[];
  /** How many jobs with the same labels start before this one; counted up to the number of idle agents. */
  ahead?: number;
  /**
   * Number of agents that fit the job, by what they do. Null if an agent is idle, because the numbers are not needed
   * then.
   */
  counts: FitCounts | null;
  /** Whether the organization allows the service to wake machines for waiting jobs. */
  autoWake: boolean;
  /** Key or account that the job needs before it can start on any agent; null if it needs none. */
  heldUp: Extract<WaitingReason, 'concurrency_key' | 'account_busy'> | null;
}

export type PlacementDecision =
  | { action: 'start'; agentId: string; why: string }
  | { action: 'wait'; waiting: WaitingReason; reason: string; mayWake: boolean };

/** The job for which the dispatcher chose an agent, why it chose this one, and how many agents fit the job. */
export interface ChosenFor {
  jobId: string;
  why: string;
  considered: number;
}

/** The reason of a placement in which the agent, and not the dispatcher, was the first to be free. */
export const cameFreeFirst = 'it was the first agent with the required labels that became free';

/** Decides which agent a job without an agent gets now, and what the job waits for if there is none. */
export function decidePlacement({
  prefer,
  idle,
  ahead = 0,
  counts,
  autoWake,
  heldUp,
}: PlacementFacts): PlacementDecision {
  if (heldUp) {
    const what = heldUp === 'concurrency_key' ? 'a concurrency key is full' : 'no account is free';
    return { action: 'wait', waiting: heldUp, reason: what, mayWake: false };
  }
  const best = [...idle].sort(
    (a, b) => compareAgentActivity(a.lastActivityMs, b.lastActivityMs, prefer) || (a.agentId < b.agentId ? -1 : 1),
  );
  // The jobs ahead are placed at the same time. If all of them tried the same agent, they would try each agent in turn.
  const chosen = best[ahead % best.length];
  if (chosen) {
    const why =
      best.length === 1
        ? 'it is the only agent with the required labels that is online and idle'
        : chosen === best[0]
          ? whyPreferred[prefer]
          : `${whyPreferred[prefer]}, after the agents for the jobs ahead in the queue`;
    return { action: 'start', agentId: chosen.agentId, why };
  }
  const { fits, busy, waking, draining, off } = counts ?? noAgents;
  const reason = `${fits} agents have the required labels: ${busy} busy, ${waking} waking, ${draining} draining, ${off} off`;
  // An organization without auto-wake starts its machines itself.
  if (waking > 0) return { action: 'wait', waiting: 'agent_waking', reason, mayWake: autoWake };
  if (busy === 0 && !autoWake) return { action: 'wait', waiting: 'no_agent_online', reason, mayWake: false };
  return { action: 'wait', waiting: 'no_agent_free', reason, mayWake: autoWake };
}

const whyPreferred: Record<TargetPreference, string> = {
  running: 'it is online and idle, and was busy last',
  spread: 'it is online, and has been idle longest',
};

/** Orders agents: for `running` the one that was active last comes first, for `spread` the one that was active first. */
function compareAgentActivity(a: number | null, b: number | null, prefer: TargetPreference): number {
  const difference = (a ?? -Infinity) === (b ?? -Infinity) ? 0 : (a ?? -Infinity) < (b ?? -Infinity) ? -1 : 1;
  return prefer === 'spread' ? difference : -difference;
}
