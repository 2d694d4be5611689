import type { AgentStatus } from '@muster/contracts';
import type { MachineFindingEntity } from '@muster/database';
import type { ListedMachine } from '@muster/vm';
import { canWakeFrom } from '../life/agent-life';

/** The agent that the tag of a machine names. */
export interface ClaimedOwner {
  status: AgentStatus;
  /** Whether the agent's machine is being terminated, which includes waiting for another attempt. */
  ending: boolean;
}

/**
 * Returns the reason for which the machine is an orphan. Null if an agent owns the machine, or if it has no tag of the
 * service or is already gone.
 */
export function findOrphanReason(
  machine: ListedMachine,
  { isOwned, claimed }: { isOwned: boolean; claimed: ClaimedOwner | null },
  now: Date,
): string | null {
  if (isOwned || machine.agentId === null || machine.state === 'gone') return null;
  const expired = machine.expiresAt !== null && machine.expiresAt <= now;
  if (claimed && claimed.status !== 'terminated') {
    // A copy of an agent's machine also has the tag with the agent's id. It is not stopped before the expiry that its
    // owner has set in another tag.
    return expired
      ? 'it has the tag of an agent that uses another machine, and the time in its expiry tag has passed'
      : null;
  }
  if (claimed) return claimed.ending ? null : 'its agent is terminated';
  // The owner of the machine has set a time in its tags until which the machine must not be stopped.
  if (machine.expiresAt && !expired) return null;
  return 'no agent owns it';
}

/** A problem that the reaper has recorded (a finding): a machine without an agent, or an agent without a machine. */
export type Finding = Pick<MachineFindingEntity, 'firstSeenAt' | 'actedAt'>;

/**
 * Whether a finding is confirmed, so that the service acts on it: the finding and the last action on it are both older
 * than the confirmation time.
 */
export function isConfirmedFinding({ firstSeenAt, actedAt }: Finding, now: Date, confirmMs: number): boolean {
  const since = Math.max(firstSeenAt.getTime(), actedAt?.getTime() ?? 0);
  return now.getTime() - since >= confirmMs;
}

/** Decides the new status of an agent whose machine is gone. Null if nothing can be concluded about the agent now. */
export function decideMissingMachine(
  { status, lastSeenAgoMs }: { status: AgentStatus; lastSeenAgoMs: number | null },
  { listed }: { listed: boolean },
  confirmMs: number,
): { to: 'terminated' | 'offline'; reason: string } | null {
  // Only stopped and offline agents are checked: in any other status the machine reports, or an order to it is in
  // progress.
  if (!canWakeFrom(status)) return null;
  // A machine that reported recently exists, even if its provider does not list it.
  if (status === 'offline' && lastSeenAgoMs !== null && lastSeenAgoMs < confirmMs) return null;
  // The provider may not find the machine only because the service now uses other credentials or another host. So the
  // agent becomes offline and is not terminated.
  return listed
    ? { to: 'terminated', reason: 'its provider reports that its machine was terminated' }
    : { to: 'offline', reason: 'its provider has no such machine' };
}
