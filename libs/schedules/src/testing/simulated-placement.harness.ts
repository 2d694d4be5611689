import { decidePlacement, decideMachineWakes, decideWakesAhead, type WakeFacts } from '@muster/jobs';
import { computePrewakeLeadMs, getWakeDelayMs } from '@muster/machines';
import type { TargetPreference } from '@muster/contracts';
import { dueRuns, longestLeadMs, nearestRun } from './simulated-schedules.harness';
import {
  findFirstTime,
  type FleetFigures,
  minute,
  type SimulatedAgent,
  type SimulatedJob,
  type SimulatedLaunch,
  type SimulatedSchedule,
  stepMs,
} from './simulated-machines.harness';

/** Number of machines of an organization. */
const machinesPerOrganization = 25;
const labels = ['any'];
const priority = 5;

/** Two thirds of the runs and of the schedules name no machine. */
export const isUnplaced = (number: number) => number % 3 !== 0;

interface Parts {
  figures: FleetFigures;
  prefer: TargetPreference;
  launch: (placement: SimulatedPlacement, run: SimulatedLaunch) => void;
  startNextRun: (agent: SimulatedAgent, now: number, clock: number) => void;
  startWakeOfAgent: (agent: SimulatedAgent, now: number, clock: number) => void;
}

/** Divides the machines into organizations, and takes the machine from two thirds of their schedules. */
export function openPlacements(fleet: readonly SimulatedAgent[], parts: Parts): SimulatedPlacement[] {
  const placements: SimulatedPlacement[] = [];
  for (let first = 0; first < fleet.length; first += machinesPerOrganization) {
    placements.push(new SimulatedPlacement(fleet.slice(first, first + machinesPerOrganization), parts));
  }
  return placements;
}

/** The runs of an organization that any of its machines can take. */
export class SimulatedPlacement {
  readonly queue: SimulatedJob[] = [];
  readonly schedules: SimulatedSchedule[] = [];
  nextRunAt: number;
  private unattendedMs = 0;

  constructor(
    readonly agents: SimulatedAgent[],
    private readonly parts: Parts,
  ) {
    let number = 0;
    for (const agent of agents) {
      const own: SimulatedSchedule[] = [];
      for (const schedule of agent.schedules) (isUnplaced(number++) ? this.schedules : own).push(schedule);
      Object.assign(agent, { schedules: own, nextRunAt: findFirstTime(own) });
    }
    this.nextRunAt = findFirstTime(this.schedules);
  }

  /** Whether every machine has work. */
  get isBusy(): boolean {
    return this.agents.every(({ current, queue }) => current !== null || queue.length > 0);
  }

  /** Simulates the service's messages and loops for the runs without a machine. */
  simulateService(now: number, clock: number): void {
    for (const dueAt of dueRuns(this, clock))
      this.parts.launch(this, { now, clock, at: Math.round(dueAt / minute), dueAt });
    this.prewake(now, clock);
    this.placeJobs(now, clock);
    this.measure(clock);
  }

  /** Places jobs as long as a machine is idle, like `placeJob`. */
  private placeJobs(now: number, clock: number): void {
    const tried = new Set<SimulatedAgent>();
    for (let head = findDue(this.queue, clock); head; head = findDue(this.queue, clock)) {
      const idle = this.agents.filter((agent) => isIdle(agent) && !tried.has(agent));
      const decision = decidePlacement({
        prefer: this.parts.prefer,
        idle: idle.map(({ id, lastActivityAt }) => ({ agentId: id, lastActivityMs: lastActivityAt })),
        counts: this.countFits(),
        autoWake: true,
        heldUp: null,
      });
      if (decision.action === 'wait') {
        if (decision.mayWake) this.wakeForJobs(now, clock);
        return;
      }
      const agent = idle.find(({ id }) => id === decision.agentId)!;
      this.parts.startNextRun(agent, now, clock);
      if (!agent.current) tried.add(agent);
    }
  }

  private wakeForJobs(now: number, clock: number): void {
    for (const { agentId } of decideMachineWakes(this.readWakeFacts(clock)))
      this.parts.startWakeOfAgent(
        this.agents.find(({ id }) => id === agentId)!,
        now,
        clock,
      );
  }

  /** Wakes machines ahead of the runs of schedules, like `prewakeForTargets`. */
  private prewake(now: number, clock: number): void {
    if (clock < nearestRun(this)) return;
    const near = this.schedules.filter(({ nextRunAt }) => nextRunAt.getTime() - clock <= longestLeadMs);
    const isPrewoken = ({ prewokenFor, nextRunAt }: SimulatedSchedule) =>
      prewokenFor?.getTime() === nextRunAt.getTime();
    if (near.every(isPrewoken)) return;
    const reserved = this.agents.flatMap(({ id, nextRunAt }) =>
      nextRunAt - clock <= longestLeadMs ? [{ agentId: id, at: new Date(nextRunAt) }] : [],
    );
    const runs = near
      .toSorted((one, other) => one.nextRunAt.getTime() - other.nextRunAt.getTime())
      .map((schedule) => ({
        id: String(this.schedules.indexOf(schedule)),
        ...{ labels, at: schedule.nextRunAt, hasWake: isPrewoken(schedule) },
      }));
    for (const { runId, agentId, bootMs } of decideWakesAhead(this.readWakeFacts(clock), { runs, reserved })) {
      const schedule = this.schedules[Number(runId)]!;
      const at = schedule.nextRunAt.getTime();
      if (isPrewoken(schedule) || at - clock > computePrewakeLeadMs(bootMs)) continue;
      schedule.prewokenFor = schedule.nextRunAt;
      const agent = this.agents.find(({ id }) => id === agentId)!;
      agent.prewokenRun = { schedule, at };
      this.parts.startWakeOfAgent(agent, now, clock);
    }
  }

  private readWakeFacts(clock: number): WakeFacts {
    const free = this.agents.filter(({ current }) => current === null);
    return {
      jobs: this.queue
        .filter(({ notBefore }) => notBefore <= clock)
        .map(({ queuedNow }, at) => ({ jobId: `job ${at}`, labels, priority, queuedAtMs: queuedNow })),
      coming: free.filter(isComing).map(({ id, queue }) => {
        const own = findDue(queue, clock);
        return { agentId: id, labels, own: own ? { priority, queuedAtMs: own.queuedNow } : null };
      }),
      wakeable: free
        .filter((agent) => isAsleep(agent) && !isResting(agent, clock))
        .map(({ id, bootMs }) => ({ agentId: id, labels, bootMs })),
      room: null,
    };
  }

  private countFits() {
    const count = (...statuses: string[]) => this.agents.filter(({ status }) => statuses.includes(status)).length;
    return {
      fits: this.agents.length,
      busy: this.agents.filter(({ status, current }) => status === 'online' && current !== null).length,
      waking: count('starting', 'rebooting'),
      draining: 0,
      off: count('stopped', 'offline', 'stopping'),
    };
  }

  /** Measures how long jobs wait although a machine for them could be woken. */
  private measure(clock: number): void {
    const { jobs, coming, wakeable } = this.readWakeFacts(clock);
    const [first] = jobs;
    const takers = coming.filter(({ own }) => !own || !first || own.queuedAtMs > first.queuedAtMs);
    const isForgotten = jobs.length > takers.length && wakeable.length > 0;
    const { figures } = this.parts;
    this.unattendedMs = isForgotten ? this.unattendedMs + stepMs : 0;
    figures.longestUnattendedMs = Math.max(figures.longestUnattendedMs, this.unattendedMs);
  }
}

/** Returns the queue whose job the machine starts next: its own, or that of the jobs without a machine. */
export function findNextQueue(
  agent: SimulatedAgent,
  placement: SimulatedPlacement | undefined,
  clock: number,
): SimulatedJob[] | null {
  const own = findDue(agent.queue, clock);
  const other = placement && isIdle(agent) ? findDue(placement.queue, clock) : undefined;
  if (other && (!own || other.queuedNow < own.queuedNow)) return placement!.queue;
  return own ? agent.queue : null;
}

export function findDue(queue: readonly SimulatedJob[], clock: number): SimulatedJob | undefined {
  return queue.find(({ notBefore }) => notBefore <= clock);
}

function isIdle({ status, current }: SimulatedAgent): boolean {
  return status === 'online' && current === null;
}

function isComing({ status, wake }: SimulatedAgent): boolean {
  return status === 'online' || status === 'starting' || status === 'rebooting' || wake !== null;
}

function isAsleep({ status, wake }: SimulatedAgent): boolean {
  return (status === 'stopped' || status === 'offline') && wake === null;
}

function isResting({ failedWakes, lastFailureAt }: SimulatedAgent, clock: number): boolean {
  return failedWakes > 0 && lastFailureAt + getWakeDelayMs(failedWakes) > clock;
}
