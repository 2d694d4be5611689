import type { AgentStatus } from '@muster/contracts';
import type { MachineFindingEntity } from '@muster/database';
import type { ListedMachine } from '@muster/vm';
import { canWake } from '../lifecycle/agent-life';

/** The agent that a machine's tag names. */
export interface ClaimedOwner {
  status: AgentStatus;
  /** The agent's machine is being terminated, or will be tried again. */
  ending: boolean;
}

/**
 * Returns the reason for which the machine is an orphan. Null if an agent owns it, or if it is not a machine that the
 * service may judge.
 */
export function decideOrphan(
  machine: ListedMachine,
  { isOwned, claimed }: { isOwned: boolean; claimed: ClaimedOwner | null },
  now: Date,
): string | null {
  if (isOwned || machine.agentId === null || machine.state === 'gone') return null;
  const expired = machine.expiresAt !== null && machine.expiresAt <= now;
  if (claimed && claimed.status !== 'terminated') {
    // A copy of an agent's machine carries the agent's tag too. It may run until the expiry that its owner set.
    return expired ? 'it has the tag of an agent that has another machine, and it has expired' : null;
  }
  if (claimed) return claimed.ending ? null : 'its agent is terminated';
  // The owner has set the time until which the machine is needed.
  if (machine.expiresAt && !expired) return null;
  return 'no agent owns it';
}

export type Finding = Pick<MachineFindingEntity, 'firstSeenAt' | 'actedAt'>;

/** Whether the service acts on a finding: the finding is old enough, and so is the last action on it. */
export function isConfirmed({ firstSeenAt, actedAt }: Finding, now: Date, confirmMs: number): boolean {
  const since = Math.max(firstSeenAt.getTime(), actedAt?.getTime() ?? 0);
  return now.getTime() - since >= confirmMs;
}

/** Decides the agent's status if its machine is confirmed to be gone. Null if the agent cannot be judged now. */
export function decideGone(
  { status, lastSeenAgoMs }: { status: AgentStatus; lastSeenAgoMs: number | null },
  { listed }: { listed: boolean },
  confirmMs: number,
): { to: 'terminated' | 'offline'; reason: string } | null {
  // Only stopped and offline agents: in any other status the machine reports or an order to it is in progress.
  if (!canWake(status)) return null;
  // A machine that reported recently exists, even if its provider does not list it.
  if (status === 'offline' && lastSeenAgoMs !== null && lastSeenAgoMs < confirmMs) return null;
  // If the provider does not know the machine at all, the service may be asking with other credentials or at another
  // host.
  return listed
    ? { to: 'terminated', reason: 'its provider reports that its machine was terminated' }
    : { to: 'offline', reason: 'its provider has no such machine' };
}
