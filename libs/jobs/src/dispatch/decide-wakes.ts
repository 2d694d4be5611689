/** A queued job without an agent that could start if a fitting agent were free. In the order of start. */
export interface UnplacedJob {
  jobId: string;
  labels: string[];
  priority: number;
  queuedAtMs: number;
}

/** An agent that will be able to start a job soon without another wake: it boots, or is online and idle. */
export interface ComingAgent {
  agentId: string;
  labels: string[];
  /** The first job that names the agent; the agent starts it before jobs that come later. Null if there is none. */
  own: { priority: number; queuedAtMs: number } | null;
}

export interface WakeableAgent {
  agentId: string;
  labels: string[];
  /** Measured boot time; null if the agent was never woken. */
  bootMs: number | null;
}

export interface WakeFacts {
  jobs: UnplacedJob[];
  coming: ComingAgent[];
  wakeable: WakeableAgent[];
  /** How many more runs the organization may have at once; null without a limit. */
  room: number | null;
}

export interface Wake {
  jobId: string;
  agentId: string;
}

/**
 * Decides which agents to wake: one for each job that no coming agent will take, in the order in which the jobs start,
 * and for each job the fitting agent that boots fastest. Of the jobs, as many as possible are left to coming agents.
 */
export function decideMachineWakes({ jobs, coming, wakeable, room }: WakeFacts): Wake[] {
  const left = new Map(wakeable.map((agent) => [agent.agentId, agent]));
  const taken = new Map<string, UnplacedJob>();
  const wakes: Wake[] = [];
  for (const job of jobs) {
    if (room !== null && taken.size + wakes.length >= room) break;
    if (assignToComingAgent(job, coming, taken, new Set())) continue;
    const [fastest] = [...left.values()].filter((agent) => hasLabelsOfJob(agent, job)).sort(compareBootTimes);
    if (!fastest) continue;
    left.delete(fastest.agentId);
    wakes.push({ jobId: job.jobId, agentId: fastest.agentId });
  }
  return wakes;
}

/**
 * Assigns a coming agent to the job; a job that was assigned before moves to another agent if this is necessary. This
 * is a step of a maximum matching, so no agent is woken for a job that a coming agent could take.
 */
function assignToComingAgent(
  job: UnplacedJob,
  coming: ComingAgent[],
  taken: Map<string, UnplacedJob>,
  visited: Set<string>,
): boolean {
  for (const agent of coming) {
    if (visited.has(agent.agentId) || !hasLabelsOfJob(agent, job) || startsBeforeOwnMachine(agent.own, job)) continue;
    visited.add(agent.agentId);
    const before = taken.get(agent.agentId);
    if (before && !assignToComingAgent(before, coming, taken, visited)) continue;
    taken.set(agent.agentId, job);
    return true;
  }
  return false;
}

function hasLabelsOfJob({ labels }: { labels: string[] }, job: UnplacedJob): boolean {
  return job.labels.every((label) => labels.includes(label));
}

function startsBeforeOwnMachine(own: ComingAgent['own'], job: UnplacedJob): boolean {
  if (!own) return false;
  return own.priority !== job.priority ? own.priority > job.priority : own.queuedAtMs <= job.queuedAtMs;
}

/** A measured boot is preferred to an unknown one. */
function compareBootTimes(a: WakeableAgent, b: WakeableAgent): number {
  const difference = (a.bootMs ?? Infinity) - (b.bootMs ?? Infinity);
  return difference || (a.agentId < b.agentId ? -1 : 1);
}
