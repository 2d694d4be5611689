import { acquireAdvisoryLock, type Transaction } from '@muster/database';
import { getWakeDelayMs, readLastWakeFailures } from '@muster/machines';
import { decideMachineWakes, type UnplacedJob, type WakeFacts } from '../dispatch/decide-wakes';
import { defaultPriority } from '../launch/insert-job';
import { wakeFacts, type WakeFactsRow } from './wake-agents';

/** A run that has no job yet and that any agent with the labels will be able to take. */
export interface RunToCome {
  id: string;
  labels: string[];
  /** Time at which the job of the run will be queued. */
  at: Date;
  /** Whether an agent was already woken for the run. Other runs do not count on that agent. */
  hasWake?: boolean;
}

/** An agent that will start a run that names it, at this time. */
export interface Reserved {
  agentId: string;
  at: Date;
}

export interface WakeOfRun {
  runId: string;
  agentId: string;
  /** Measured boot time of the agent; null if it was never woken. */
  bootMs: number | null;
}

/** Waits for other decisions about wakes of the organization's agents. Taken before the lock of an agent. */
export function lockWakesOfOrganization(tx: Transaction, organizationId: string): Promise<void> {
  return acquireAdvisoryLock(tx, 'placement wakes', organizationId);
}

/**
 * Decides which agents must be woken for runs to come: one for each run that no agent can take that is already online
 * and idle, or booting. Waiting jobs are decided in the same way. An agent whose earlier wakes failed is left out for
 * some time.
 */
export async function decideWakesForRuns(
  tx: Transaction,
  organizationId: string,
  { runs, reserved, now }: { runs: readonly RunToCome[]; reserved?: readonly Reserved[]; now: Date },
): Promise<WakeOfRun[]> {
  const [row] = await tx.query<WakeFactsRow>(wakeFacts, [organizationId], 'wake_facts');
  if (!row?.wakeable) return [];
  const room = row.maxConcurrentRuns === null ? null : row.maxConcurrentRuns - row.running;
  const facts = { jobs: row.jobs ?? [], coming: row.coming ?? [], room };
  let { wakeable } = row;
  for (;;) {
    const wakes = decideWakesAhead({ ...facts, wakeable }, { runs, reserved });
    const resting = await findAgentsThatMustWait(tx, wakes, now);
    if (resting.size === 0) return wakes;
    wakeable = wakeable.filter(({ agentId }) => !resting.has(agentId));
  }
}

/**
 * Decides which agents are woken for runs to come, from the jobs that wait and the agents of the organization. A run
 * that has a wake keeps its agent, and an agent that will start a run of its own is left to that run.
 */
export function decideWakesAhead(
  { jobs: waiting, coming, wakeable, room }: WakeFacts,
  { runs, reserved = [] }: { runs: readonly RunToCome[]; reserved?: readonly Reserved[] },
): WakeOfRun[] {
  const others = runs.filter(({ hasWake }) => !hasWake).map(toUnplacedJob);
  const jobs = [
    ...runs.filter(({ hasWake }) => hasWake).map(toUnplacedJob),
    ...[...waiting, ...others].sort(compareStartTimes),
  ];
  const reservedFor = new Map(reserved.map(({ agentId, at }) => [agentId, at.getTime()]));
  const available = wakeable.filter(({ agentId }) => !reservedFor.has(agentId));
  const wakes = decideMachineWakes({
    jobs,
    coming: coming.map((agent) => {
      const queuedAtMs = reservedFor.get(agent.agentId);
      if (queuedAtMs === undefined) return agent;
      return { ...agent, own: agent.own ?? { priority: defaultPriority, queuedAtMs } };
    }),
    wakeable: available,
    room,
  });
  return wakes
    .filter(({ jobId }) => runs.some(({ id }) => id === jobId))
    .map(({ jobId, agentId }) => ({
      runId: jobId,
      agentId,
      bootMs: available.find((agent) => agent.agentId === agentId)!.bootMs,
    }));
}

function toUnplacedJob({ id, labels, at }: RunToCome): UnplacedJob {
  return { jobId: id, labels, priority: defaultPriority, queuedAtMs: at.getTime() };
}

function compareStartTimes(a: UnplacedJob, b: UnplacedJob): number {
  return b.priority - a.priority || a.queuedAtMs - b.queuedAtMs;
}

async function findAgentsThatMustWait(tx: Transaction, wakes: { agentId: string }[], now: Date): Promise<Set<string>> {
  const resting = new Set<string>();
  for (const { agentId } of wakes) if (await findWakeRestEnd(tx, agentId, now)) resting.add(agentId);
  return resting;
}

/** Returns the time until which the agent is not woken again because its last wakes failed; null if it can be woken. */
export async function findWakeRestEnd(tx: Transaction, agentId: string, now: Date): Promise<Date | null> {
  const { consecutive, lastAt } = await readLastWakeFailures(tx, agentId);
  if (!lastAt) return null;
  const until = new Date(lastAt.getTime() + getWakeDelayMs(consecutive));
  return until > now ? until : null;
}
