import type { PlacementFixture } from '../placement.harness';

interface Agent {
  id: string;
  status: string;
  provider: string;
  labels: string[];
  placement: boolean;
  isFree: boolean;
  currentJobId: string | null;
  isBeingWoken: boolean;
  isResting: boolean;
}

export interface Job {
  id: string;
  status: string;
  agentId: string | null;
  targetLabels: string[] | null;
  isDispatched: boolean;
  isCancelled: boolean;
  priority: number;
  queuedAt: number;
  keys: { key: string; limit: number }[] | null;
  pools: string[] | null;
  commands: number;
}

/** The rows on which placement depends, as one statement has read them. */
export interface State {
  agents: Agent[];
  jobs: Job[];
  held: { key: string; jobId: string; limit: number }[] | null;
  accounts: { pool: string; limit: number; held: number; isUsable: boolean }[] | null;
  maxRuns: number | null;
  autoWake: boolean;
}

export async function readPlacementState({ jobs: { query, organizationId } }: PlacementFixture): Promise<State> {
  const [state] = await query<State>(
    `SELECT s.max_concurrent_runs AS max_runs, s.vm_auto_wake_on_job AS auto_wake,
       (SELECT json_agg(json_build_object('id', a.id, 'status', a.status, 'provider', a.provider, 'labels', a.labels,
          'placement', a.placement, 'currentJobId', a.current_job_id,
          'isFree', a.drain IS NULL AND a.current_job_id IS NULL AND a.clearing_command_id IS NULL,
          'isBeingWoken', EXISTS (SELECT FROM agent_wake w WHERE w.agent_id = a.id AND w.state = 'open'),
          'isResting', COALESCE((SELECT w.state IN ('failed', 'timeout') FROM agent_wake w WHERE w.agent_id = a.id
                                 ORDER BY w.requested_at DESC, w.id DESC LIMIT 1), false)) ORDER BY a.id)
        FROM agent a WHERE a.organization_id = $1) AS agents,
       COALESCE((SELECT json_agg(json_build_object('id', j.id, 'status', j.status, 'agentId', j.agent_id,
          'targetLabels', j.target_labels, 'isDispatched', j.command_id IS NOT NULL,
          'isCancelled', j.cancel_requested_at IS NOT NULL, 'priority', j.priority,
          'queuedAt', extract(epoch FROM j.queued_at) * 1e6, 'keys', j.concurrency_keys,
          'pools', (SELECT json_agg(r.pool) FROM jsonb_to_recordset(j.accounts) AS r(pool text)),
          'commands', (SELECT count(*) FROM agent_command c WHERE c.job_id = j.id AND c.kind = 'run')) ORDER BY j.id)
        FROM job j WHERE j.organization_id = $1), '[]') AS jobs,
       (SELECT json_agg(json_build_object('key', l.key, 'jobId', l.job_id, 'limit', LEAST(l.most, (
          SELECT c."limit" FROM concurrency_limit c WHERE c.organization_id = $1 AND c.key = l.key))))
        FROM concurrency_lease l WHERE l.organization_id = $1 AND l.since IS NOT NULL) AS held,
       (SELECT json_agg(json_build_object('pool', a.pool, 'limit', a."limit", 'isUsable', a.enabled AND a.set_aside_since IS NULL,
          'held', (SELECT count(*) FROM account_use u WHERE u.organization_id = $1 AND u.account = a.name AND u.until IS NULL)))
        FROM account a WHERE a.organization_id = $1) AS accounts
     FROM organization_settings s WHERE s.organization_id = $1`,
    [organizationId],
  );
  return state!;
}

const labelsIncludeTarget = (labels: string[], job: Job) => job.targetLabels!.every((label) => labels.includes(label));
const isWaitingJob = (job: Job) => job.status === 'queued' && !job.isDispatched && !job.isCancelled;
const isUnplacedJob = (job: Job) => job.agentId === null;
const precedesInQueue = (a: Pick<Job, 'priority' | 'queuedAt'>, b: Pick<Job, 'priority' | 'queuedAt'>) =>
  a.priority !== b.priority ? a.priority > b.priority : a.queuedAt < b.queuedAt;

/** Limits that the organization sets for concurrency keys, in addition to those of the jobs. */
export type KeyLimits = Map<string, number>;

/** The rules of placement as plain code over a state, independent of the statements of the service. */
export class Rules {
  constructor(
    readonly state: State,
    private readonly keyLimits: KeyLimits,
  ) {}

  get room(): number {
    const { agents, maxRuns } = this.state;
    return maxRuns === null ? Infinity : maxRuns - agents.filter(({ currentJobId }) => currentJobId !== null).length;
  }

  /** Whether the job could start as soon as an agent is free for it. */
  isStartableJob(job: Job): boolean {
    const { held, accounts } = this.state;
    const hasRoom = ({ key, limit }: { key: string; limit: number }) => {
      const holders = (held ?? []).filter((lease) => lease.key === key);
      return (
        holders.length < Math.min(limit, this.keyLimits.get(key) ?? Infinity, ...holders.map((lease) => lease.limit))
      );
    };
    const hasAccount = (pool: string) =>
      (accounts ?? []).some((account) => account.pool === pool && account.isUsable && account.held < account.limit);
    return isWaitingJob(job) && (job.keys ?? []).every(hasRoom) && (job.pools ?? []).every(hasAccount);
  }

  isIdleForJob(agent: Agent, job: Job): boolean {
    return agent.status === 'online' && agent.isFree && (isUnplacedJob(job) ? agent.placement : true);
  }

  couldAgentRunJob(agent: Agent, job: Job): boolean {
    return isUnplacedJob(job)
      ? agent.status !== 'terminated' && labelsIncludeTarget(agent.labels, job)
      : job.agentId === agent.id;
  }

  /** Returns the jobs that still wait although they could start now on an idle agent. */
  listNeedlesslyWaitingJobs(which: 'unplaced' | 'all'): string[] {
    if (this.room <= 0) return [];
    return this.state.jobs
      .filter((job) => (which === 'all' || isUnplacedJob(job)) && this.isStartableJob(job))
      .filter((job) =>
        this.state.agents.some((agent) => this.couldAgentRunJob(agent, job) && this.isIdleForJob(agent, job)),
      )
      .map(({ id }) => id);
  }

  /** Returns the waiting jobs that were overtaken: since `before`, an agent that could run them started a later job. */
  listOvertakenJobs(before: State): string[] {
    const wasStarted = new Set(before.jobs.filter((job) => job.isDispatched).map(({ id }) => id));
    const started = this.state.jobs.filter((job) => job.isDispatched && !wasStarted.has(job.id));
    if (this.room <= 0) return [];
    return this.state.jobs
      .filter((job) => this.isStartableJob(job))
      .flatMap((job) => {
        const overtaking = started.find((other) => {
          const agent = this.state.agents.find(({ id }) => id === other.agentId)!;
          return (
            precedesInQueue(job, other) && this.couldAgentRunJob(agent, job) && (!isUnplacedJob(job) || agent.placement)
          );
        });
        return overtaking ? [`${job.id} by ${overtaking.id}`] : [];
      });
  }

  /** Returns the violations of the rules that hold in every state. */
  listRuleViolations(before: State): string[] {
    const { agents, jobs, held, accounts } = this.state;
    const faults: string[] = [];
    const open = jobs.filter((job) => job.isDispatched && ['queued', 'running'].includes(job.status));
    for (const agent of agents) {
      const runs = open.filter(({ agentId }) => agentId === agent.id).map(({ id }) => id);
      if (runs.length > 1 || (agent.status !== 'terminated' && (runs[0] ?? null) !== agent.currentJobId))
        faults.push(`agent ${agent.id} has the runs ${runs.join()} and the current job ${agent.currentJobId}`);
    }
    for (const job of jobs) if (job.commands > 1) faults.push(`job ${job.id} was started ${job.commands} times`);
    const countHeld = (state: State, key: string) => (state.held ?? []).filter((lease) => lease.key === key).length;
    for (const { key, limit } of held ?? []) {
      const count = countHeld(this.state, key);
      if (count > Math.min(limit, this.keyLimits.get(key) ?? Infinity) && count > countHeld(before, key))
        faults.push(`key ${key} is held ${count} times, limit ${limit}`);
    }
    for (const account of accounts ?? [])
      if (account.held > account.limit) faults.push(`an account is held ${account.held} times`);
    return faults;
  }

  /** Wakes since `before` that no job needs, and jobs for which an agent should have been woken and was not. */
  listWrongWakes(before: State): string[] {
    const { agents, jobs, autoWake } = this.state;
    const waiting = jobs
      .filter((job) => isUnplacedJob(job) && this.isStartableJob(job))
      .sort((a, b) => (precedesInQueue(a, b) ? -1 : 1));
    const ownOf = (agent: Agent) =>
      jobs
        .filter((job) => job.agentId === agent.id && this.isStartableJob(job))
        .sort((a, b) => (precedesInQueue(a, b) ? -1 : 1))[0];
    const takes = (agent: Agent, job: Job) => {
      const own = ownOf(agent);
      return (
        agent.isFree && agent.placement && labelsIncludeTarget(agent.labels, job) && !(own && precedesInQueue(own, job))
      );
    };
    // An agent is also woken for a job that names it, or that was sent to it and has not reached it.
    const isWokenForOwn = (agent: Agent) =>
      !agent.isFree ||
      [...jobs, ...before.jobs].some((job) => job.agentId === agent.id && job.status === 'queued' && !job.isDispatched);
    const isNew = (agent: Agent) =>
      agent.isBeingWoken && !before.agents.find(({ id }) => id === agent.id)?.isBeingWoken;
    const isComing = (agent: Agent) =>
      ['online', 'starting', 'rebooting'].includes(agent.status) ||
      (agent.status !== 'terminated' && agent.isBeingWoken);
    const woken = agents.filter((agent) => isNew(agent) && !isWokenForOwn(agent) && agent.placement);
    // An agent that was woken for its own job may have been woken after the decision about the others.
    const coming = agents.filter((agent) => isComing(agent) && !isNew(agent));
    const count = (among: Agent[]) => countMaximumMatching(waiting, among, takes);
    const faults: string[] = [];
    const [without, withWoken] = [count(coming), count([...coming, ...woken])];
    if (withWoken - without < woken.length) faults.push(`${woken.length} wakes for ${withWoken - without} jobs`);
    const wakeable = agents.filter(
      (agent) =>
        ['stopped', 'offline'].includes(agent.status) &&
        agent.provider !== 'external' &&
        !agent.isBeingWoken &&
        !agent.isResting &&
        !ownOf(agent),
    );
    if (woken.length > Math.max(0, this.room)) faults.push(`${woken.length} wakes for ${this.room} free slots`);
    const allComing = agents.filter(isComing);
    const missing = count([...allComing, ...wakeable]) - count(allComing);
    if (autoWake && this.room === Infinity && missing > 0) faults.push(`${missing} wakes are missing`);
    return faults;
  }
}

/** Size of a maximum matching of jobs and agents. */
function countMaximumMatching(jobs: Job[], agents: Agent[], takes: (agent: Agent, job: Job) => boolean): number {
  const taken = new Map<Agent, Job>();
  const assign = (job: Job, visited: Set<Agent>): boolean =>
    agents.some((agent) => {
      if (visited.has(agent) || !takes(agent, job)) return false;
      visited.add(agent);
      const other = taken.get(agent);
      if (other && !assign(other, visited)) return false;
      taken.set(agent, job);
      return true;
    });
  return jobs.filter((job) => assign(job, new Set())).length;
}
