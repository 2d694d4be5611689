import { type AgentStatus, agentStatuses, type LifecycleEvent } from '@muster/contracts';
import type { AgentEntity, OrganizationSettingsEntity } from '@muster/database';

interface MoveRow {
  from: readonly AgentStatus[];
  to: readonly AgentStatus[];
  /** The lifecycle events (interface, section 6) that a move may record. */
  events?: readonly LifecycleEvent[];
}

/** Statuses in which an agent's worker is expected to report. */
export const onStatuses = ['online', 'draining'] as const satisfies readonly AgentStatus[];
/** Statuses of an agent whose machine is off. */
export const offStatuses = ['stopped', 'terminated'] as const satisfies readonly AgentStatus[];
/** Statuses that last while the machine carries out an order, such as a stop or a reboot. They end with the order. */
export const passingStatuses = ['starting', 'stopping', 'rebooting'] as const satisfies readonly AgentStatus[];
/** Statuses in which a wake can start at once. */
const wakeableStatuses = ['stopped', 'offline'] as const satisfies readonly AgentStatus[];

const listStatusesExcept = <T extends AgentStatus>(...left: T[]) =>
  agentStatuses.filter((status): status is Exclude<AgentStatus, T> => !(left as AgentStatus[]).includes(status));

/** All allowed changes of an agent's status, by the name of the move. Only `setAgentStatus` changes a status. */
export const agentMoves = {
  // Changes of the status that a user requests.
  drain: { from: ['online'], to: ['draining'] },
  undrain: { from: ['draining'], to: ['online'] },
  stop: { from: ['online', 'offline', 'starting', 'draining'], to: ['stopping'], events: ['manual_stop'] },
  reboot: { from: listStatusesExcept('rebooting', 'terminated'), to: ['rebooting'], events: ['manual_reboot'] },
  terminate: { from: listStatusesExcept('terminated'), to: ['terminated'] },
  // Orders of the service to the machine, and the results of these orders.
  wake: { from: wakeableStatuses, to: ['starting'] },
  wake_ended: { from: ['starting'], to: ['stopped', 'offline'], events: ['wake_timeout', 'wake_failed'] },
  wake_lost: { from: ['starting'], to: ['offline'] },
  idle_stop: { from: ['online', 'offline'], to: ['stopping'], events: ['idle_stop_attempt'] },
  stop_ended: {
    from: ['stopping'],
    to: ['stopped', 'offline', ...onStatuses],
    events: ['idle_stop_success', 'idle_stop_failed'],
  },
  recovery_reboot: { from: ['online', 'draining', 'offline'], to: ['rebooting'] },
  reboot_ended: { from: ['rebooting'], to: ['stopped', 'offline'] },
  // Changes of the status because the machine has reported, or has not reported for too long.
  boot: { from: listStatusesExcept('stopping', 'terminated'), to: onStatuses },
  recover: { from: ['offline', 'starting'], to: onStatuses },
  unhealthy: { from: onStatuses, to: ['offline'] },
  silent: { from: onStatuses, to: ['offline'] },
  // Status changes that a report from the provider causes.
  found_on: { from: ['stopped'], to: ['offline'] },
  gave_up: { from: ['online', 'starting', 'draining', 'rebooting'], to: ['offline'] },
  gone: { from: wakeableStatuses, to: ['offline', 'terminated'] },
} as const satisfies Record<string, MoveRow>;

export type MoveName = keyof typeof agentMoves;

/** A move of `agentMoves`, with one of its target statuses and optionally one of its lifecycle events. */
export type MoveOf<Name extends MoveName = MoveName> = {
  [Each in Name]: {
    move: Each;
    to: (typeof agentMoves)[Each]['to'][number];
    /** The lifecycle event that the move records, if any. */
    eventType?: (typeof agentMoves)[Each] extends { events: readonly (infer Event)[] } ? Event : undefined;
  };
}[Name];

/**
 * Returns the statuses from which the move is allowed. Throws if `agentMoves` does not have the move with this target
 * or event, even if the types allow it.
 */
export function listAllowedOrigins({ move, to, eventType }: MoveOf): readonly AgentStatus[] {
  const row: MoveRow = agentMoves[move];
  if (!row?.to.includes(to)) throw new Error(`the move ${move} cannot lead to the status ${to}`);
  if (eventType && !row.events?.includes(eventType))
    throw new Error(`the move ${move} has no lifecycle event ${eventType}`);
  return row.from;
}

export function isOnStatus(status: AgentStatus): boolean {
  return isOneOfStatuses(onStatuses, status);
}

export function isOffStatus(status: AgentStatus): boolean {
  return isOneOfStatuses(offStatuses, status);
}

export function canWakeFrom(status: AgentStatus): boolean {
  return isOneOfStatuses(wakeableStatuses, status);
}

/** Returns the status of an agent that is on: draining until its drain is lifted, otherwise online. */
export function getOnStatus({ drain }: { drain: string | null }): (typeof onStatuses)[number] {
  return drain ? 'draining' : 'online';
}

/** Returns the statuses as an SQL list, for `status IN ${statusListSql(onStatuses)}`. */
export function statusListSql(statuses: readonly AgentStatus[]): string {
  return `(${statuses.map((status) => `'${status}'`).join(', ')})`;
}

export interface WorkFacts extends Pick<AgentEntity, 'status' | 'provider' | 'drain'> {
  /** Whether the organization allows the service to wake machines for waiting work. */
  autoWake: OrganizationSettingsEntity['vmAutoWakeOnJob'];
}

export type WorkAnswer =
  /** Work can start on the agent now. */
  | { takes: 'now' }
  /** Work can start as soon as the boot that is in progress has ended. */
  | { takes: 'after_boot' }
  /**
   * Work can start only after the machine is switched on: by the service (`itself`), by a user because auto-wake is off
   * (`hand`), or outside the service by the owner of an external machine (`owner`).
   */
  | { takes: 'after_wake'; by: 'itself' | 'hand' | 'owner' }
  /** Work can start only after a user has undrained the agent. */
  | { takes: 'after_drain' }
  | { takes: 'never' };

/** Decides whether the agent accepts work now, and if not, what has to happen before. */
export function decideWorkAnswer({ status, provider, drain, autoWake }: WorkFacts): WorkAnswer {
  if (status === 'terminated') return { takes: 'never' };
  if (drain || status === 'draining') return { takes: 'after_drain' };
  switch (status) {
    case 'online':
      return { takes: 'now' };
    case 'starting':
    case 'rebooting':
      return { takes: 'after_boot' };
    case 'stopping':
    case 'stopped':
    case 'offline':
      if (provider === 'external') return { takes: 'after_wake', by: 'owner' };
      return { takes: 'after_wake', by: autoWake ? 'itself' : 'hand' };
  }
}

function isOneOfStatuses(statuses: readonly AgentStatus[], status: AgentStatus): boolean {
  return statuses.includes(status);
}
