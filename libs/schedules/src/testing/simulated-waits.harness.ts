import { addIdleGap, computePrewakeLeadMs, getWakeDelayMs } from '@muster/machines';
import { isKeptOnForRun } from './simulated-schedules.harness';
import {
  type FleetFigures,
  idleTickMs,
  minute,
  second,
  type SimulatedAgent,
  type SimulatedJob,
  type SimulatedLaunch,
  stepMs,
} from './simulated-machines.harness';

/** Delay up to which a run counts as on time. */
const lateMs = 5 * second;

/** Records the start of a run: the wait for its machine, and for a scheduled run whether it is late and why. */
export function recordJobStart(
  figures: FleetFigures,
  agent: SimulatedAgent,
  { job, now, clock }: { job: SimulatedJob; now: number; clock: number },
): void {
  if (job.attempt > 1) return;
  const wait = figures.waits[job.isUnplaced ? 'unplaced' : 'named'];
  wait.runs += 1;
  wait.ms += now - job.queuedNow;
  if (job.dueAt === null) {
    figures.unscheduled += 1;
    figures.waitedMs += now - (job.isBehind ? Math.max(job.queuedNow, agent.freeAt) : job.queuedNow);
    return;
  }
  figures.scheduled += 1;
  const lateBy = clock - job.dueAt;
  if (lateBy <= lateMs) return;
  const from = now - lateBy - computePrewakeLeadMs(agent.bootMs) - minute;
  if (job.isBehind) figures.late['other work'] += 1;
  else if (figures.disturbedAt >= from) figures.late['an outage or a clock'] += 1;
  else if (agent.faultAt >= from - 20 * minute) figures.late['a machine failure'] += 1;
  else figures.late['the policy'] += 1;
}

/** Measures how long a machine is on without work, and how long a job waits while its machine is not being started. */
export function addStepToFigures(
  figures: FleetFigures,
  agent: SimulatedAgent,
  { now, clock, up }: { now: number; clock: number; up: boolean },
): void {
  const { status } = agent;
  const works = agent.current !== null || agent.queue.length > 0;
  if (agent.power === 'off' || works || status === 'stopping' || status === 'starting') {
    if (agent.idleSince !== null) endIdleTime(figures, agent, now);
  } else if (agent.idleSince === null) {
    agent.idleSince = now;
    agent.allowanceMs = 0;
  } else if (!up || isKeptOnForRun(agent, clock)) agent.allowanceMs += stepMs;
  const asleep = status === 'stopped' || status === 'offline';
  const rests = agent.failedWakes > 0 && agent.lastFailureAt + getWakeDelayMs(agent.failedWakes) > clock;
  const due = agent.queue.some(({ notBefore }) => notBefore <= clock);
  const forgotten = asleep && due && !agent.wake && !rests && !agent.current;
  agent.unattendedMs = forgotten && up ? agent.unattendedMs + stepMs : 0;
  figures.longestUnattendedMs = Math.max(figures.longestUnattendedMs, agent.unattendedMs);
}

/** Ends the idle period of a machine. */
export function endIdleTime(figures: FleetFigures, agent: SimulatedAgent, now: number): void {
  if (agent.idleSince === null) return;
  const idleMs = now - agent.idleSince;
  figures.longestIdleMs = Math.max(figures.longestIdleMs, idleMs);
  // An obstacle may have been present at exactly the tick that would have stopped the machine.
  const missedTickMs = agent.allowanceMs > 0 ? idleTickMs : 0;
  figures.longestIdleNetMs = Math.max(figures.longestIdleNetMs, idleMs - agent.allowanceMs - missedTickMs);
  agent.idleSince = null;
}

/** Learns the time for which the machine was idle before a run arrived. */
export function recordGap(agent: SimulatedAgent, { clock, dueAt }: Pick<SimulatedLaunch, 'clock' | 'dueAt'>): void {
  if (agent.freeClock === null || clock < agent.freeClock) return;
  agent.gaps = addIdleGap(agent.gaps, { ms: clock - agent.freeClock, scheduled: dueAt !== null });
}
