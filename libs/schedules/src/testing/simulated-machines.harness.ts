import type { AgentStatus } from '@muster/contracts';
import type { CronRule } from '../cron/cron-rule';

export interface SimulatedSchedule {
  rule: CronRule;
  /** Scheduled time of the next run, by the service's clock. */
  nextRunAt: Date;
  prewokenFor: Date | null;
}

export const second = 1000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;
/** Length of a simulation step. */
export const stepMs = 2 * second;
export const idleTickMs = 30 * second;

export interface SimulatedJob {
  attempt: number;
  /** Earliest time at which the job may start, by the service's clock. */
  notBefore: number;
  workMs: number;
  fate: 'ends' | 'hangs' | 'kills the worker' | 'kills the machine';
  isDispatched: boolean;
  startedAt: number | null;
  lastReportAt: number;
  endsAt: number;
  /** Scheduled time of the job by the service's clock; null for an unscheduled job. */
  dueAt: number | null;
  /** Time when the job was queued, in true time (not by the service's clock). */
  queuedNow: number;
  /** Whether the machine, or each machine that could take the job, had other work when the job arrived. */
  isBehind: boolean;
  /** Whether any machine of the organization can take the job. */
  isUnplaced: boolean;
}

export interface SimulatedAgent {
  id: string;
  status: AgentStatus;
  statusSince: number;
  lastActivityAt: number | null;
  lastSeen: number | null;
  onSince: number | null;
  idleStopFailedAt: number | null;
  wake: { requestedAt: number; deadline: number; nextTryAt: number; attempt: number; failed: boolean } | null;
  firstWakeSinceSeen: number | null;
  failedWakes: number;
  silentWake: boolean;
  lastFailureAt: number;
  queue: SimulatedJob[];
  current: SimulatedJob | null;
  enqueued: boolean;
  checkedAt: number;
  schedules: SimulatedSchedule[];
  /** Earliest next run of the agent's schedules, by the service's clock. */
  nextRunAt: number;
  /** The run of a schedule without a machine for which this machine was woken. */
  prewokenRun: { schedule: SimulatedSchedule; at: number } | null;
  /** Usual boot duration of the machine. `boots` and `bootMs` are what the service has measured. */
  baseBootMs: number;
  boots: number[];
  bootMs: number | null;
  gaps: number[];
  /** Whether the agent's last activity was the end of a run. */
  afterRun: boolean;
  /** When the agent last finished its work: `freeAt` in true time, `freeClock` by the service's clock. */
  freeAt: number;
  freeClock: number | null;
  /** When the machine or its worker last failed, in true time. */
  faultAt: number;
  /** State of the machine itself, in true time. */
  power: 'off' | 'booting' | 'on';
  readyAt: number;
  reports: boolean;
  hasHandshaken: boolean;
  offAt: number | null;
  stopFails: boolean;
  /** Measurements that only the test makes, in true time. */
  idleSince: number | null;
  allowanceMs: number;
  unattendedMs: number;
}

export function createAgent(id: string, schedules: SimulatedSchedule[], random: () => number): SimulatedAgent {
  return {
    id,
    schedules,
    nextRunAt: findFirstTime(schedules),
    prewokenRun: null,
    baseBootMs: (22 + 58 * random()) * second,
    boots: [],
    bootMs: null,
    gaps: [],
    afterRun: false,
    freeAt: 0,
    freeClock: null,
    faultAt: -Infinity,
    status: 'stopped',
    statusSince: 0,
    lastActivityAt: null,
    lastSeen: null,
    onSince: null,
    idleStopFailedAt: null,
    wake: null,
    firstWakeSinceSeen: null,
    failedWakes: 0,
    silentWake: false,
    lastFailureAt: 0,
    queue: [],
    current: null,
    enqueued: false,
    checkedAt: 0,
    power: 'off',
    readyAt: 0,
    reports: false,
    hasHandshaken: false,
    offAt: null,
    stopFails: false,
    idleSince: null,
    allowanceMs: 0,
    unattendedMs: 0,
  };
}

export function findFirstTime(schedules: readonly SimulatedSchedule[]): number {
  return Math.min(...schedules.map(({ nextRunAt }) => nextRunAt.getTime()));
}

export interface SimulatedLaunch {
  now: number;
  clock: number;
  at: number;
  dueAt: number | null;
}

export function createJob(
  { now, clock, at, dueAt }: SimulatedLaunch,
  { isBehind, isUnplaced }: Pick<SimulatedJob, 'isBehind' | 'isUnplaced'>,
  random: () => number,
): SimulatedJob {
  const chance = random();
  const fate =
    chance < 0.015 ? 'hangs' : chance < 0.03 ? 'kills the worker' : chance < 0.04 ? 'kills the machine' : 'ends';
  // Most runs take minutes, some take hours.
  const [low, high] = at % 7 < 6 ? [2 * minute, 20 * minute] : [30 * minute, 150 * minute];
  return {
    attempt: 1,
    notBefore: clock,
    workMs: low + random() * (high - low),
    fate,
    isDispatched: false,
    startedAt: null,
    lastReportAt: clock,
    endsAt: 0,
    dueAt,
    queuedNow: now,
    isBehind,
    isUnplaced,
  };
}

/** Changes the status like `setAgentStatus` in libs/machines. */
export function changeAgentStatus(agent: SimulatedAgent, to: AgentStatus, clock: number): void {
  agent.onSince = to === 'stopped' ? null : (agent.onSince ?? clock);
  Object.assign(agent, { status: to, statusSince: clock });
}

/** Returns the unscheduled launches: some machines work all day, most in bursts. */
export function drawRandomLaunches(agents: number, end: number, random: () => number): { at: number; agent: number }[] {
  const all: { at: number; agent: number }[] = [];
  for (let agent = 0; agent < agents; agent += 1) {
    const bursts = Math.round((end / day) * (agent % 10 === 0 ? 8 : 2));
    for (let burst = 0; burst < bursts; burst += 1) {
      const at = random() * end;
      const jobs = 1 + Math.floor(random() * 4);
      for (let job = 0; job < jobs; job += 1) all.push({ at: Math.round(at + job * random() * hour), agent });
    }
  }
  return all.filter(({ at }) => at < end).sort((one, other) => one.at - other.at);
}

export function drawTimes(end: number, count: number, random: () => number): number[] {
  return Array.from({ length: Math.round(count) }, () => random() * end).sort((one, other) => one - other);
}

export function toDateOrNull(time: number | null): Date | null {
  return time === null ? null : new Date(time);
}

type LateBy = 'other work' | 'an outage or a clock' | 'a machine failure' | 'the policy';

export interface FleetFigures {
  jobs: number;
  completed: number;
  failed: number;
  /** Jobs that are not finished at the end, a day after the last launch. */
  left: number;
  machinesLeftOn: number;
  neededHours: number;
  /** Number of runs that no schedule launched. */
  unscheduled: number;
  /**
   * Milliseconds for which unscheduled runs waited for their machines in total, without the time in which a machine did
   * other work.
   */
  waitedMs: number;
  /** First attempts of runs that name their machine and of those that do not, with their time from queue to start. */
  waits: Record<'named' | 'unplaced', { runs: number; ms: number }>;
  /** First attempts of scheduled runs, and the causes of the late ones. */
  scheduled: number;
  late: Record<LateBy, number>;
  /** When the service was last down, or when its clock was last changed. */
  disturbedAt: number;
  spentHours: number;
  wakes: number;
  failedWakeCount: number;
  reboots: number;
  idleStops: number;
  idleStopsFailed: number;
  restarts: number;
  clockJumps: number;
  /**
   * Longest time that a machine was on without work before its stop was decided. The net value excludes delays that no
   * policy can avoid.
   */
  longestIdleMs: number;
  longestIdleNetMs: number;
  /** Longest time that a job waited while the service was up and its machine was not being started. */
  longestUnattendedMs: number;
}

export function createEmptyFigures(): FleetFigures {
  return {
    jobs: 0,
    completed: 0,
    failed: 0,
    left: 0,
    machinesLeftOn: 0,
    unscheduled: 0,
    waitedMs: 0,
    waits: { named: { runs: 0, ms: 0 }, unplaced: { runs: 0, ms: 0 } },
    scheduled: 0,
    late: { 'other work': 0, 'an outage or a clock': 0, 'a machine failure': 0, 'the policy': 0 },
    disturbedAt: -Infinity,
    neededHours: 0,
    spentHours: 0,
    wakes: 0,
    failedWakeCount: 0,
    reboots: 0,
    idleStops: 0,
    idleStopsFailed: 0,
    restarts: 0,
    clockJumps: 0,
    longestIdleMs: 0,
    longestIdleNetMs: 0,
    longestUnattendedMs: 0,
  };
}
