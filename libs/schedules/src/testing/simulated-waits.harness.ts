import { prewakeLeadMs, wakeBackoffMs } from '@muster/agents';
import { isHeld } from './simulated-schedules.harness';
import {
  type FleetFigures,
  idleTickMs,
  minute,
  second,
  type SimulatedAgent,
  type SimulatedJob,
  stepMs,
} from './simulated-machines.harness';

/** What is still at its time. */
const lateMs = 5 * second;

/** A run has begun: how long somebody waited for its machine, and of a scheduled one whether it is late, and why. */
export function noteStart(
  figures: FleetFigures,
  agent: SimulatedAgent,
  { job, now, clock }: { job: SimulatedJob; now: number; clock: number },
): void {
  if (job.attempt > 1) return;
  if (job.dueAt === null) {
    figures.unscheduled += 1;
    figures.waitedMs += now - (job.isBehind ? Math.max(job.queuedNow, agent.freeAt) : job.queuedNow);
    return;
  }
  figures.scheduled += 1;
  const lateBy = clock - job.dueAt;
  if (lateBy <= lateMs) return;
  const from = now - lateBy - prewakeLeadMs(agent.bootMs) - minute;
  if (job.isBehind) figures.late['other work'] += 1;
  else if (figures.disturbedAt >= from) figures.late['an outage or a clock'] += 1;
  else if (agent.faultAt >= from - 20 * minute) figures.late['a fault of the machine'] += 1;
  else figures.late['the policy'] += 1;
}

/** What a machine is on for without work, and what a job waits for while nothing is done about its machine. */
export function measure(
  figures: FleetFigures,
  agent: SimulatedAgent,
  { now, clock, up }: { now: number; clock: number; up: boolean },
): void {
  const { status } = agent;
  const works = agent.current !== null || agent.queue.length > 0;
  if (agent.power === 'off' || works || status === 'stopping' || status === 'starting') {
    if (agent.idleSince !== null) closeIdle(figures, agent, now);
  } else if (agent.idleSince === null) {
    agent.idleSince = now;
    agent.allowanceMs = 0;
  } else if (!up || isHeld(agent, clock)) agent.allowanceMs += stepMs;
  const asleep = status === 'stopped' || status === 'offline';
  const rests = agent.failedWakes > 0 && agent.lastFailureAt + wakeBackoffMs(agent.failedWakes) > clock;
  const due = agent.queue.some(({ notBefore }) => notBefore <= clock);
  const forgotten = asleep && due && !agent.wake && !rests && !agent.current;
  agent.unattendedMs = forgotten && up ? agent.unattendedMs + stepMs : 0;
  figures.longestUnattendedMs = Math.max(figures.longestUnattendedMs, agent.unattendedMs);
}

/** Its idle time is over. */
export function closeIdle(figures: FleetFigures, agent: SimulatedAgent, now: number): void {
  if (agent.idleSince === null) return;
  const idleMs = now - agent.idleSince;
  figures.longestIdleMs = Math.max(figures.longestIdleMs, idleMs);
  // Whatever stood in the way for a moment may have been there at the tick that would have stopped it.
  const missedTickMs = agent.allowanceMs > 0 ? idleTickMs : 0;
  figures.longestIdleNetMs = Math.max(figures.longestIdleNetMs, idleMs - agent.allowanceMs - missedTickMs);
  agent.idleSince = null;
}
