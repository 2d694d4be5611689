import type { AgentStatus } from '@muster/contracts';
import type { MachineFindingEntity } from '@muster/database';
import type { ListedMachine } from '@muster/vm';
import { canWake } from '../lifecycle/agent-life';

/** What the service knows of the agent that a machine says it belongs to. */
export interface ClaimedOwner {
  status: AgentStatus;
  /** Its machine is being terminated at this moment, or is to be tried again. */
  ending: boolean;
}

/** Why no agent owns the machine, or null: one does, or it is none of ours to judge. */
export function decideOrphan(
  machine: ListedMachine,
  { isOwned, claimed }: { isOwned: boolean; claimed: ClaimedOwner | null },
  now: Date,
): string | null {
  if (isOwned || machine.agentId === null || machine.state === 'gone') return null;
  const expired = machine.expiresAt !== null && machine.expiresAt <= now;
  if (claimed && claimed.status !== 'terminated') {
    // A copy of an agent's machine carries its name too, and has the time that its owner gave it.
    return expired ? 'it has the tag of an agent that has another machine, and it has expired' : null;
  }
  if (claimed) return claimed.ending ? null : 'its agent is terminated';
  // Its owner says until when it is needed.
  if (machine.expiresAt && !expired) return null;
  return 'no agent owns it';
}

export type Finding = Pick<MachineFindingEntity, 'firstSeenAt' | 'actedAt'>;

/** Whether what was found before is to be acted on: it was so for long enough, and not acted on just now. */
export function isConfirmed({ firstSeenAt, actedAt }: Finding, now: Date, confirmMs: number): boolean {
  const since = Math.max(firstSeenAt.getTime(), actedAt?.getTime() ?? 0);
  return now.getTime() - since >= confirmMs;
}

/** What becomes of an agent once it is confirmed that its machine is gone; null: it is not to be judged now. */
export function decideGone(
  { status, heardAgoMs }: { status: AgentStatus; heardAgoMs: number | null },
  { listed }: { listed: boolean },
  confirmMs: number,
): { to: 'terminated' | 'offline'; reason: string } | null {
  // Those that only a report of their own brings back: the machine of any other one is under somebody's hands.
  if (!canWake(status)) return null;
  // A machine that spoke is there, whatever its provider says.
  if (status === 'offline' && heardAgoMs !== null && heardAgoMs < confirmMs) return null;
  // Where a provider has never heard of a machine, it may be we who ask the wrong one: other credentials, another host.
  return listed
    ? { to: 'terminated', reason: 'its provider reports that its machine was terminated' }
    : { to: 'offline', reason: 'its provider has no such machine' };
}
