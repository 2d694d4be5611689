import { prewakeLeadMs } from '@muster/agents';
import type { AgentEntity, OrganizationSettingsEntity, ScheduleEntity } from '@muster/database';
import { decideRun, type GuardFacts } from '../ticks/decide-tick';

export interface PrewakeFacts
  extends
    Pick<OrganizationSettingsEntity, 'prewake'>,
    Pick<AgentEntity, 'bootMs'>,
    Pick<ScheduleEntity, 'prewokenFor'> {
  /** The nominal time of its next run. */
  nextRunAt: Date;
  guards: GuardFacts;
  /** After wakes that failed its machine is let be for a while; null where it may be woken now. */
  wakeRestsUntil: Date | null;
}

export type PrewakeDecision = { wake: true } | { wake: false; reason: string };

/** Statuses of a machine that will not be there by itself when its run's time comes. */
const asleep = ['stopped', 'offline', 'stopping'];

/** Is the machine of a schedule to be woken now, ahead of its next run? Once for each nominal time. */
export function decidePrewake(facts: PrewakeFacts, now: Date): PrewakeDecision {
  const { prewake, nextRunAt, prewokenFor, bootMs, guards, wakeRestsUntil } = facts;
  if (!prewake) return no('machines are not woken ahead here');
  const leftMs = nextRunAt.getTime() - now.getTime();
  if (leftMs <= 0) return no('its time has come');
  if (leftMs > prewakeLeadMs(bootMs)) return no('its time is further away than a boot');
  if (prewokenFor?.getTime() === nextRunAt.getTime()) return no('its machine was woken for this time');
  const guard = decideRun(guards, nextRunAt);
  if (!guard.launch) return no(`it would be skipped: ${guard.reason}`);
  if (!guards.agent || !asleep.includes(guards.agent.status)) return no(`its agent is ${guards.agent?.status}`);
  if (wakeRestsUntil && wakeRestsUntil > now) {
    return no(`its machine did not wake; it rests until ${wakeRestsUntil.toISOString()}`);
  }
  return { wake: true };
}

function no(reason: string): PrewakeDecision {
  return { wake: false, reason };
}
