import type { AgentStatus } from '@muster/contracts';
import type { CronRule } from '../cron/cron-rule';

export interface SimulatedSchedule {
  rule: CronRule;
  /** Service time. */
  nextRunAt: Date;
  prewokenFor: Date | null;
}

// What a simulated fleet is made of.

export const second = 1000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;
/** How finely time is looked at. */
export const stepMs = 2 * second;
export const idleTickMs = 30 * second;

export interface SimulatedJob {
  attempt: number;
  /** Service time. */
  notBefore: number;
  workMs: number;
  fate: 'ends' | 'hangs' | 'kills the worker' | 'kills the machine';
  given: boolean;
  startedAt: number | null;
  heardAt: number;
  endsAt: number;
  /** Of a scheduled one its nominal time; service time. */
  dueAt: number | null;
  /** In true time. */
  queuedNow: number;
  /** The machine had other work when it came. */
  isBehind: boolean;
}

export interface SimulatedAgent {
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
  lookedAt: number;
  schedules: SimulatedSchedule[];
  /** The next run of any of them; service time. */
  nextRunAt: number;
  /** What its own boots take, nearly; and what was measured of them. */
  baseBootMs: number;
  boots: number[];
  bootMs: number | null;
  gaps: number[];
  /** Its last activity was the end of a run. */
  afterRun: boolean;
  /** When it had its last work behind it: in true time and in the service’s. */
  freeAt: number;
  freeClock: number | null;
  /** When something was last wrong with the machine or its worker, in true time. */
  faultAt: number;
  /** The machine itself, in true time. */
  power: 'off' | 'booting' | 'on';
  readyAt: number;
  reports: boolean;
  shaken: boolean;
  offAt: number | null;
  stopFails: boolean;
  /** What is measured, in true time. */
  idleSince: number | null;
  allowanceMs: number;
  unattendedMs: number;
}

export function newAgent(schedules: SimulatedSchedule[], random: () => number): SimulatedAgent {
  return {
    schedules,
    nextRunAt: Math.min(...schedules.map(({ nextRunAt }) => nextRunAt.getTime())),
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
    lookedAt: 0,
    power: 'off',
    readyAt: 0,
    reports: false,
    shaken: false,
    offAt: null,
    stopFails: false,
    idleSince: null,
    allowanceMs: 0,
    unattendedMs: 0,
  };
}

/** As move-agent does it. */
export function move(agent: SimulatedAgent, to: AgentStatus, clock: number): void {
  agent.onSince = to === 'stopped' ? null : (agent.onSince ?? clock);
  Object.assign(agent, { status: to, statusSince: clock });
}

/** What nobody scheduled: some machines work all day, most in bursts. */
export function launches(agents: number, end: number, random: () => number): { at: number; agent: number }[] {
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

export function moments(end: number, count: number, random: () => number): number[] {
  return Array.from({ length: Math.round(count) }, () => random() * end).sort((one, other) => one - other);
}

export function dateOf(time: number | null): Date | null {
  return time === null ? null : new Date(time);
}

type LateBy = 'other work' | 'an outage or a clock' | 'a fault of the machine' | 'the policy';

export interface FleetFigures {
  jobs: number;
  completed: number;
  failed: number;
  /** Not over at the end, a day after the last launch. */
  left: number;
  machinesLeftOn: number;
  neededHours: number;
  /** What nobody scheduled: how many runs, and for how long they waited for a machine, not for other work on it. */
  unscheduled: number;
  waitedMs: number;
  /** First attempts of scheduled runs, and of those that came late what made them so. */
  scheduled: number;
  late: Record<LateBy, number>;
  /** When the service was last down, or its clock was moved. */
  disturbedAt: number;
  spentHours: number;
  wakes: number;
  wakesInVain: number;
  reboots: number;
  idleStops: number;
  idleStopsFailed: number;
  restarts: number;
  clockJumps: number;
  /** The longest that a machine was on without work before its stop was decided; and without what no rule can mend. */
  longestIdleMs: number;
  longestIdleNetMs: number;
  /** The longest that a job waited while nothing was done about its machine, the service being up. */
  longestUnattendedMs: number;
}

export function noFigures(): FleetFigures {
  return {
    jobs: 0,
    completed: 0,
    failed: 0,
    left: 0,
    machinesLeftOn: 0,
    unscheduled: 0,
    waitedMs: 0,
    scheduled: 0,
    late: { 'other work': 0, 'an outage or a clock': 0, 'a fault of the machine': 0, 'the policy': 0 },
    disturbedAt: -Infinity,
    neededHours: 0,
    spentHours: 0,
    wakes: 0,
    wakesInVain: 0,
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
