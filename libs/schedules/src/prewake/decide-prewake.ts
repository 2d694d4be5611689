import { computePrewakeLeadMs } from '@muster/machines';
import type { AgentEntity, OrganizationSettingsEntity, ScheduleEntity } from '@muster/database';
import { decideScheduledRun, type GuardFacts } from '../ticks/decide-tick';

export interface PrewakeFacts
  extends
    Pick<OrganizationSettingsEntity, 'prewake'>,
    Pick<AgentEntity, 'bootMs'>,
    Pick<ScheduleEntity, 'prewokenFor'> {
  /** Scheduled time of the schedule's next run. */
  nextRunAt: Date;
  guards: GuardFacts;
  /** After failed wakes, the machine is not woken before this time; null if it may be woken now. */
  wakeRestsUntil: Date | null;
}

export type PrewakeDecision = { wake: true } | { wake: false; reason: string };

/** Statuses in which a machine will not be ready at the time of its run unless it is woken. */
const asleep = ['stopped', 'offline', 'stopping'];

/**
 * Decides whether the machine of a schedule is woken now, ahead of its next run. It is woken once for each scheduled
 * time.
 */
export function decidePrewakeOfMachine(facts: PrewakeFacts, now: Date): PrewakeDecision {
  const { prewake, nextRunAt, prewokenFor, bootMs, guards, wakeRestsUntil } = facts;
  if (!prewake) return createNoWakeDecision('prewake is turned off');
  const leftMs = nextRunAt.getTime() - now.getTime();
  if (leftMs <= 0) return createNoWakeDecision('the scheduled time has passed');
  if (leftMs > computePrewakeLeadMs(bootMs))
    return createNoWakeDecision('the scheduled time is further away than the boot time');
  if (prewokenFor?.getTime() === nextRunAt.getTime())
    return createNoWakeDecision('the machine was already woken for this time');
  const guard = decideScheduledRun(guards, nextRunAt);
  if (!guard.launch) return createNoWakeDecision(`the run would be skipped: ${guard.reason}`);
  if (!guards.agent || !asleep.includes(guards.agent.status))
    return createNoWakeDecision(`the agent is ${guards.agent?.status}`);
  if (wakeRestsUntil && wakeRestsUntil > now) {
    return createNoWakeDecision(`the machine failed to wake and is not woken before ${wakeRestsUntil.toISOString()}`);
  }
  return { wake: true };
}

function createNoWakeDecision(reason: string): PrewakeDecision {
  return { wake: false, reason };
}
