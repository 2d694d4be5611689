import { decideIdleStop, explainSilence, decideWakeStep, runEnded, getWakeDelayMs } from '@muster/machines';
import type { IdleStopPolicy, TargetPreference } from '@muster/contracts';
import { decideStaleJob, decideJobStart, computeRetryDelayMs } from '@muster/jobs';
import { createSeededRandom } from '@muster/testing';
import { simulateBootDuration, recordBootDuration } from './simulated-boots.harness';
import { findDue, findNextQueue, isUnplaced, openPlacements, SimulatedPlacement } from './simulated-placement.harness';
import { dueRuns, endSchedules, toExpected, isPrewoken, nearestRun, newSchedules } from './simulated-schedules.harness';
import { endIdleTime, addStepToFigures, recordGap, recordJobStart } from './simulated-waits.harness';
import {
  toDateOrNull,
  day,
  hour,
  drawRandomLaunches,
  minute,
  drawTimes,
  changeAgentStatus,
  createAgent,
  createEmptyFigures,
  createJob,
  type FleetFigures,
  second,
  idleTickMs,
  stepMs,
  type SimulatedAgent as Agent,
  type SimulatedLaunch as Launch,
} from './simulated-machines.harness';

// Simulates machines, their jobs and the service over days, in memory and within seconds. The real decision functions
// decide; events of machines, of the service and of its clock are generated from a seed.

export interface FleetOptions {
  agents: number;
  days: number;
  seed: number;
  idleStopMinutes: number;
  policy: IdleStopPolicy;
  /** How two thirds of the runs choose a machine of their organization. Undefined: all runs name their machine. */
  prefer?: TargetPreference;
}

const watchTickMs = 10 * second;
const staleTickMs = minute;
const sweepRestMs = minute;
const wakeTimeoutMs = 2 * minute;
const offlineAfterMs = 90 * second;
const limits = { lostAfterMs: 15 * minute, stalledAfterMs: 0 };
const maxRuntimeMs = 3 * hour;

export function simulateFleet({ agents: count, days, seed, ...options }: FleetOptions): FleetFigures {
  const { idleStopMinutes, policy, prefer } = options;
  const random = createSeededRandom(seed);
  const between = (low: number, high: number) => low + random() * (high - low);
  const figures = createEmptyFigures();
  const fleet = Array.from({ length: count }, (_, index) =>
    createAgent(String(index).padStart(4, '0'), newSchedules(index, random), random),
  );
  const placements = prefer ? openPlacements(fleet, { figures, prefer, launch, startNextRun, startWakeOfAgent }) : [];
  const placementOf = new Map(placements.flatMap((placement) => placement.agents.map((agent) => [agent, placement])));
  const end = days * day;
  const arrivals = drawRandomLaunches(fleet.length, end, random);
  const outages = drawTimes(end, days * 3, random).map((at) => ({ at, until: at + between(5 * second, 3 * minute) }));
  const jumps = drawTimes(end, days * 2, random).map((at) => ({ at, by: between(-20 * minute, 20 * minute) }));
  figures.restarts = outages.length;
  let [offset, nextArrival, nextJump, nextOutage] = [0, 0, 0, 0];

  for (let now = 0; now < end + day; now += stepMs) {
    while (nextOutage < outages.length && outages[nextOutage]!.until <= now) nextOutage += 1;
    const up = !(nextOutage < outages.length && outages[nextOutage]!.at <= now);
    if (nextJump < jumps.length && jumps[nextJump]!.at <= now) {
      const { by } = jumps[nextJump]!;
      // Every second jump of the clock sets it to the correct time again.
      const to = nextJump % 2 === 0 ? by : 0;
      const back = Math.max(0, offset - to);
      for (const agent of fleet) agent.allowanceMs += back;
      offset = to;
      nextJump += 1;
      figures.disturbedAt = now;
      figures.clockJumps += 1;
    }
    const clock = now + offset;
    if (!up) figures.disturbedAt = now;
    // Clients repeat their calls while the service is down.
    while (up && nextArrival < arrivals.length && arrivals[nextArrival]!.at <= now) {
      const { at, agent: index } = arrivals[nextArrival]!;
      const agent = fleet[index % count]!;
      const placement = isUnplaced(nextArrival) ? placementOf.get(agent) : undefined;
      launch(placement ?? agent, { now, clock, at, dueAt: null });
      nextArrival += 1;
    }
    if (now === end) [...fleet, ...placements].forEach(endSchedules);
    if (up) for (const placement of placements) placement.simulateService(now, clock);
    for (const agent of fleet) {
      const isOff = agent.status === 'stopped' && agent.power === 'off' && agent.queue.length === 0 && !agent.enqueued;
      if (isOff && clock < nearestRun(agent)) continue;
      simulateMachine(agent, now, clock, up);
      if (up) simulateService(agent, now, clock);
      addStepToFigures(figures, agent, { now, clock, up });
    }
  }
  for (const { queue } of placements) figures.left += queue.length;
  for (const agent of fleet) {
    figures.left += agent.queue.length + (agent.current ? 1 : 0);
    if (agent.power !== 'off') figures.machinesLeftOn += 1;
  }
  return figures;

  function launch(owner: Agent | SimulatedPlacement, run: Launch): void {
    figures.jobs += 1;
    if (owner instanceof SimulatedPlacement) {
      owner.queue.push(createJob(run, { isBehind: owner.isBusy, isUnplaced: true }, random));
      return;
    }
    const isBehind = owner.current !== null || owner.queue.length > 0;
    if (!isBehind) recordGap(owner, run);
    owner.queue.push(createJob(run, { isBehind, isUnplaced: false }, random));
    owner.enqueued = true;
  }

  /** Simulates one agent's machine and the worker on it. */
  function simulateMachine(agent: Agent, now: number, clock: number, up: boolean): void {
    if (agent.offAt !== null && agent.offAt <= now) {
      Object.assign(agent, { power: 'off', offAt: null, reports: false, hasHandshaken: false });
    }
    if (agent.power === 'booting' && agent.readyAt <= now) agent.power = 'on';
    if (agent.power !== 'off') figures.spentHours += stepMs / hour;
    if (agent.power !== 'on' || !agent.reports) return;
    const job = agent.current;
    if (job && job.startedAt !== null && job.endsAt <= now && job.fate !== 'hangs' && job.fate !== 'ends') {
      agent.reports = false;
      agent.faultAt = now;
      if (job.fate === 'kills the machine') agent.power = 'off';
      // The wake fails once; its next attempt succeeds.
      job.fate = 'ends';
      return;
    }
    if (job && job.startedAt !== null) figures.neededHours += stepMs / hour;
    if (!up) return;
    if (!agent.hasHandshaken && agent.status !== 'stopping') simulateHandshake(agent, now, clock);
    if (!agent.hasHandshaken) return;
    agent.lastSeen = clock;
    agent.firstWakeSinceSeen = null;
    if (agent.status === 'offline') {
      changeAgentStatus(agent, 'online', clock);
      agent.enqueued = true;
    }
    if (!job) return;
    if (job.startedAt === null) {
      Object.assign(job, { startedAt: clock, endsAt: now + job.workMs });
      recordJobStart(figures, agent, { job, now, clock });
    }
    job.lastReportAt = clock;
    agent.lastActivityAt = clock;
    if (job.endsAt <= now && job.fate === 'ends') endJobOfAgent(agent, now, clock, 'completed');
  }

  function simulateHandshake(agent: Agent, now: number, clock: number): void {
    agent.hasHandshaken = true;
    // The wake had timed out, so until now the service did not know that the machine is on.
    if (agent.failedWakes > 0 && agent.idleSince !== null) agent.allowanceMs += now - agent.idleSince;
    agent.lastActivityAt = clock;
    Object.assign(agent, { failedWakes: 0, silentWake: false, afterRun: false });
    if (agent.wake) recordBootDuration(agent, clock - agent.wake.requestedAt);
    agent.wake = null;
    changeAgentStatus(agent, 'online', clock);
    agent.enqueued = true;
  }

  /** Simulates the service's loops and messages for one agent. */
  function simulateService(agent: Agent, now: number, clock: number): void {
    if (now % watchTickMs === 0) failAgentIfSilent(agent, clock);
    for (const dueAt of dueRuns(agent, clock)) launch(agent, { now, clock, at: Math.round(dueAt / minute), dueAt });
    if (!agent.wake && isPrewoken(agent, clock)) startWakeOfAgent(agent, now, clock);
    continueWakeOfAgent(agent, now, clock);
    continueStopOfAgent(agent, now, clock);
    const waits = findDue(agent.queue, clock) !== undefined && !agent.current;
    const canTake = agent.status === 'online' || clock - agent.checkedAt >= sweepRestMs || clock < agent.checkedAt;
    if (agent.enqueued || (waits && canTake)) startNextRun(agent, now, clock);
    if (now % staleTickMs === 0 && agent.current) failStaleJob(agent, now, clock);
    if (now % idleTickMs === 0) stopAgentIfIdle(agent, now, clock);
  }

  function failAgentIfSilent(agent: Agent, clock: number): void {
    const { status } = agent;
    const facts = { status, lastSeen: toDateOrNull(agent.lastSeen), statusSince: new Date(agent.statusSince) };
    if (explainSilence(facts, new Date(clock), offlineAfterMs)) changeAgentStatus(agent, 'offline', clock);
  }

  function startNextRun(agent: Agent, now: number, clock: number): void {
    agent.enqueued = false;
    agent.checkedAt = clock;
    const queue = findNextQueue(agent, placementOf.get(agent), clock);
    const head = queue ? findDue(queue, clock)! : null;
    const restsUntil = agent.failedWakes > 0 ? agent.lastFailureAt + getWakeDelayMs(agent.failedWakes) : 0;
    const decision = decideJobStart({
      agent: { status: agent.status, provider: 'ec2', drain: null, currentJobId: agent.current ? 'a job' : null },
      head: head && { id: 'head', vaultKeys: [] },
      autoWake: true,
      wakeRestsUntil: restsUntil > clock ? new Date(restsUntil) : null,
      gate: { canLaunchRuns: true, reason: null },
      maxConcurrentRuns: null,
      runningInOrganization: 0,
      missingSecrets: [],
    });
    if (decision.action === 'start') {
      queue!.splice(queue!.indexOf(head!), 1);
      if (head!.isUnplaced) recordGap(agent, { clock, dueAt: head!.dueAt });
      Object.assign(head!, { isDispatched: true, lastReportAt: clock });
      Object.assign(agent, { current: head, lastActivityAt: clock, afterRun: false });
    }
    if (decision.action === 'wake' && !agent.wake) startWakeOfAgent(agent, now, clock);
  }

  function startWakeOfAgent(agent: Agent, now: number, clock: number): void {
    figures.wakes += 1;
    agent.wake = { requestedAt: clock, deadline: clock + wakeTimeoutMs, nextTryAt: clock, attempt: 0, failed: false };
    agent.firstWakeSinceSeen ??= clock;
    if (agent.status === 'stopping') return;
    changeAgentStatus(agent, 'starting', clock);
    continueWakeOfAgent(agent, now, clock);
  }

  function continueWakeOfAgent(agent: Agent, now: number, clock: number): void {
    const { wake } = agent;
    if (!wake) return;
    const facts = { open: true, due: wake.nextTryAt <= clock, over: wake.deadline <= clock, agentStatus: agent.status };
    const step = decideWakeStep(facts);
    if (step === 'ready') agent.wake = null;
    if (step === 'expire') {
      figures.failedWakeCount += 1;
      agent.wake = null;
      agent.failedWakes += 1;
      agent.silentWake = !wake.failed;
      agent.lastFailureAt = clock;
      agent.faultAt = now;
      if (agent.status === 'starting') changeAgentStatus(agent, agent.power === 'off' ? 'stopped' : 'offline', clock);
      agent.enqueued = true;
    }
    if (step !== 'try') return;
    wake.attempt += 1;
    wake.failed = random() < 0.03;
    if (wake.failed) agent.faultAt = now;
    wake.nextTryAt = wake.failed ? clock + 2 ** wake.attempt * second : wake.deadline;
    const reboots = agent.silentWake && wake.attempt === 1 && agent.power === 'on' && !agent.current;
    if (wake.failed || (agent.power !== 'off' && !reboots)) return;
    if (reboots) figures.reboots += 1;
    agent.power = 'booting';
    const boot = simulateBootDuration(agent, random);
    agent.readyAt = now + boot.ms;
    // On some machines the worker never reports after the boot.
    agent.reports = random() > 0.015;
    if (boot.isSlow || !agent.reports) agent.faultAt = now;
    agent.hasHandshaken = false;
  }

  function stopAgentIfIdle(agent: Agent, now: number, clock: number): void {
    const { status, current } = agent;
    if (status !== 'online' && status !== 'offline') return;
    // A negative wait means that the clock was set back in between.
    if (agent.lastActivityAt !== null && agent.lastActivityAt > clock + minute) agent.lastActivityAt = clock;
    const silentSince = Math.max(agent.onSince ?? 0, agent.firstWakeSinceSeen ?? agent.statusSince);
    const decision = decideIdleStop(
      {
        status,
        statusSince: new Date(agent.statusSince),
        provider: 'ec2',
        lastActivityAt: toDateOrNull(agent.lastActivityAt),
        silentSince: status === 'offline' ? new Date(silentSince) : null,
        idleAutoStopExempt: false,
        drain: null,
        idleStopFailedAt: toDateOrNull(agent.idleStopFailedAt),
        running: current !== null,
        queued: agent.queue.length > 0,
        commands: false,
        waking: agent.wake !== null,
        autoStopEnabled: true,
        idleStopMinutes,
        idleStopPolicy: policy,
        prewake: true,
        bootMs: agent.bootMs,
        expected: toExpected(agent),
        gaps: agent.gaps,
        lastActivity: agent.afterRun ? runEnded : null,
        autopilotSessionId: null,
      },
      new Date(clock),
    );
    if (decision.action !== 'stop') return;
    figures.idleStops += 1;
    endIdleTime(figures, agent, now);
    changeAgentStatus(agent, 'stopping', clock);
    agent.stopFails = random() < 0.02;
    if (!agent.stopFails && agent.power !== 'off') agent.offAt = now + between(5 * second, 40 * second);
  }

  function continueStopOfAgent(agent: Agent, now: number, clock: number): void {
    if (agent.status !== 'stopping') return;
    if (agent.stopFails) {
      figures.idleStopsFailed += 1;
      agent.idleStopFailedAt = clock;
      changeAgentStatus(agent, agent.reports && agent.hasHandshaken ? 'online' : 'offline', clock);
      agent.idleSince = null;
    } else if (agent.power === 'off') {
      agent.idleStopFailedAt = null;
      changeAgentStatus(agent, 'stopped', clock);
    } else return;
    agent.stopFails = false;
    agent.enqueued = true;
    continueWakeOfAgent(agent, now, clock);
  }

  function failStaleJob(agent: Agent, now: number, clock: number): void {
    const job = agent.current!;
    const decision = decideStaleJob(
      {
        status: job.startedAt === null ? 'queued' : 'running',
        agentStatus: agent.status,
        startedAt: toDateOrNull(job.startedAt),
        maxRuntimeMs,
        lastReportAt: new Date(job.lastReportAt),
        progressAt: new Date(job.lastReportAt),
        ...{ stalledAt: null, isAsking: false, failStalled: false },
      },
      limits,
      new Date(clock),
    );
    if (decision.action === 'fail') endJobOfAgent(agent, now, clock, 'failed');
  }

  function endJobOfAgent(agent: Agent, now: number, clock: number, how: 'completed' | 'failed'): void {
    const job = agent.current!;
    Object.assign(agent, { current: null, lastActivityAt: clock, afterRun: true, freeAt: now, freeClock: clock });
    agent.enqueued = true;
    figures[how] += 1;
    if (how === 'completed' || job.attempt > 2) return;
    const retry = { attempt: job.attempt, retryBackoff: 'exponential', retryDelayMs: minute } as const;
    const delayMs = computeRetryDelayMs(retry, random());
    const queue = job.isUnplaced ? placementOf.get(agent)!.queue : agent.queue;
    queue.push({
      ...job,
      attempt: job.attempt + 1,
      fate: 'ends',
      notBefore: clock + delayMs,
      isDispatched: false,
      startedAt: null,
      lastReportAt: clock,
    });
    figures.jobs += 1;
  }
}
