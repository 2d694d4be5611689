import type { AgentStatus } from '@muster/contracts';

// What a simulated fleet is made of.

export const second = 1000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;

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

export function newAgent(): SimulatedAgent {
  return {
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

/** Some machines work all day, most in bursts. */
export function launches(agents: number, end: number, random: () => number): { at: number; agent: number }[] {
  const all: { at: number; agent: number }[] = [];
  for (let agent = 0; agent < agents; agent += 1) {
    const bursts = Math.round((end / day) * (agent % 10 === 0 ? 12 : 3));
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

export interface FleetFigures {
  jobs: number;
  completed: number;
  failed: number;
  /** Not over at the end, a day after the last launch. */
  left: number;
  machinesLeftOn: number;
  neededHours: number;
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
