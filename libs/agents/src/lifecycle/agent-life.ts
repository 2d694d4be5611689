import { type AgentStatus, agentStatuses, type LifecycleEvent } from '@muster/contracts';
import type { AgentEntity, OrganizationSettingsEntity } from '@muster/database';

interface MoveRow {
  from: readonly AgentStatus[];
  to: readonly AgentStatus[];
  /** The lifecycle events (interface, section 6) that such a move may be. */
  events?: readonly LifecycleEvent[];
}

/** Its worker is there and is heard. */
export const onStatuses = ['online', 'draining'] as const satisfies readonly AgentStatus[];
/** Nothing runs on its machine. */
export const offStatuses = ['stopped', 'terminated'] as const satisfies readonly AgentStatus[];
/** Somebody is at its machine, and sees to it that this ends. */
export const passingStatuses = ['starting', 'stopping', 'rebooting'] as const satisfies readonly AgentStatus[];
/** A wake can begin at once. */
const wakeableStatuses = ['stopped', 'offline'] as const satisfies readonly AgentStatus[];

const allBut = <T extends AgentStatus>(...left: T[]) =>
  agentStatuses.filter((status): status is Exclude<AgentStatus, T> => !(left as AgentStatus[]).includes(status));

/** An agent's life: every move that it can make, by name. Nothing but moveAgent changes a status. */
export const agentMoves = {
  // As people ask for them.
  drain: { from: ['online'], to: ['draining'] },
  undrain: { from: ['draining'], to: ['online'] },
  stop: { from: ['online', 'offline', 'starting', 'draining'], to: ['stopping'], events: ['manual_stop'] },
  reboot: { from: allBut('rebooting', 'terminated'), to: ['rebooting'], events: ['manual_reboot'] },
  terminate: { from: allBut('terminated'), to: ['terminated'] },
  // What the service does with its machine, and what comes of it.
  wake: { from: wakeableStatuses, to: ['starting'] },
  wake_ended: { from: ['starting'], to: ['stopped', 'offline'], events: ['wake_timeout', 'wake_failed'] },
  wake_lost: { from: ['starting'], to: ['offline'] },
  idle_stop: { from: ['online', 'offline'], to: ['stopping'], events: ['idle_stop_attempt'] },
  stop_ended: {
    from: ['stopping'],
    to: ['stopped', 'offline', ...onStatuses],
    events: ['idle_stop_success', 'idle_stop_failed'],
  },
  mend: { from: ['online', 'draining', 'offline'], to: ['rebooting'] },
  reboot_ended: { from: ['rebooting'], to: ['stopped', 'offline'] },
  // What the machine says of itself, or no more.
  boot: { from: allBut('stopping', 'terminated'), to: onStatuses },
  recover: { from: ['offline', 'starting'], to: onStatuses },
  unhealthy: { from: onStatuses, to: ['offline'] },
  silent: { from: onStatuses, to: ['offline'] },
  // What its provider says of it.
  found_on: { from: ['stopped'], to: ['offline'] },
  gave_up: { from: ['online', 'starting', 'draining', 'rebooting'], to: ['offline'] },
  gone: { from: wakeableStatuses, to: ['offline', 'terminated'] },
} as const satisfies Record<string, MoveRow>;

export type MoveName = keyof typeof agentMoves;

/** A move of the table, to one of its ends and as one of its events. */
export type MoveOf<Name extends MoveName = MoveName> = {
  [Each in Name]: {
    move: Each;
    to: (typeof agentMoves)[Each]['to'][number];
    /** The lifecycle event that the move is, if it is one. */
    eventType?: (typeof agentMoves)[Each] extends { events: readonly (infer Event)[] } ? Event : undefined;
  };
}[Name];

/** Where the move begins. Throws where the table has no such move, whatever a type said. */
export function originsOf({ move, to, eventType }: MoveOf): readonly AgentStatus[] {
  const row: MoveRow = agentMoves[move];
  if (!row?.to.includes(to)) throw new Error(`the move ${move} cannot lead to the status ${to}`);
  if (eventType && !row.events?.includes(eventType))
    throw new Error(`the move ${move} has no lifecycle event ${eventType}`);
  return row.from;
}

export function isOn(status: AgentStatus): boolean {
  return includes(onStatuses, status);
}

export function isOff(status: AgentStatus): boolean {
  return includes(offStatuses, status);
}

export function canWake(status: AgentStatus): boolean {
  return includes(wakeableStatuses, status);
}

/** What an agent is that takes work now or after its boot: drained, on, as long as its drain is not lifted. */
export function onStatusOf({ drain }: { drain: string | null }): (typeof onStatuses)[number] {
  return drain ? 'draining' : 'online';
}

/** A list for a statement: `status IN ${inSql(onStatuses)}`. */
export function inSql(statuses: readonly AgentStatus[]): string {
  return `(${statuses.map((status) => `'${status}'`).join(', ')})`;
}

export interface WorkFacts extends Pick<AgentEntity, 'status' | 'provider' | 'drain'> {
  /** The organization lets machines be woken for what waits. */
  autoWake: OrganizationSettingsEntity['vmAutoWakeOnJob'];
}

export type WorkAnswer =
  /** At once. */
  | { takes: 'now' }
  /** Once its machine has booted, as it is about to. */
  | { takes: 'after_boot' }
  /** Once somebody wakes it: the service by itself, somebody by hand as auto-wake is off, or only its owner elsewhere. */
  | { takes: 'after_wake'; by: 'itself' | 'hand' | 'owner' }
  /** Not before its drain is lifted. */
  | { takes: 'after_drain' }
  | { takes: 'never' };

/** May this agent take work, and if not now, what has to happen first? */
export function mayTakeWork({ status, provider, drain, autoWake }: WorkFacts): WorkAnswer {
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

function includes(statuses: readonly AgentStatus[], status: AgentStatus): boolean {
  return statuses.includes(status);
}
