import type { AgentStatus, CommandKind, MachinePart } from '@muster/contracts';
import { AppError, agentNotFoundError } from '@muster/contracts';
import type { AgentEntity, Database, Transaction } from '@muster/database';
import {
  isOnStatus,
  decideWorkAnswer,
  type WorkFacts,
  recordWakeBlocked,
  requestWake,
  missingPartsError,
  listMissingParts,
  listNeededParts,
} from '@muster/machines';
import { issueCommand } from './issue-command';
import type { Requester } from '../ends/record-actions';

export interface CommandRequest {
  organizationId: string;
  agentId: string;
  kind: CommandKind;
  payload: Record<string, unknown>;
  /** The programs that the machine must have; by default those that the kind of command needs. */
  needs?: readonly MachinePart[];
  env?: Record<string, string>;
  requestedBy?: Requester;
  /** Time limit of the command in milliseconds, counted from the time at which the agent is online. */
  timeoutMs: number;
  wakeTimeoutMs: number;
  now: Date;
}

export type CommandReadiness = { action: 'issue' | 'wake' } | { action: 'blocked' | 'refuse'; reason: string };

/**
 * Commands that are allowed while the agent is being drained: they end or inspect running work, or repair the worker.
 */
const allowedWhileDraining: readonly CommandKind[] = [
  'stop_job',
  'attach_recording',
  'stop_recording',
  'repair',
  'restart',
];
/** Milliseconds for which a repair of an offline agent waits for the worker's next report. */
const repairWaitsMs = 24 * 3_600_000;

/** Decides whether a command can be issued to the agent now, only after a wake, or not at all. */
export function decideCommandReadiness({ drain, ...agent }: WorkFacts, kind: CommandKind): CommandReadiness {
  const { status } = agent;
  const passesDrain = allowedWhileDraining.includes(kind);
  const work = decideWorkAnswer({ ...agent, drain: passesDrain ? null : drain });
  switch (work.takes) {
    case 'now':
    case 'after_boot':
      return { action: 'issue' };
    case 'after_drain':
      if (passesDrain) return { action: 'issue' };
      return { action: 'refuse', reason: 'The agent is being drained and accepts no new work.' };
    case 'never':
      return { action: 'refuse', reason: 'The agent is terminated.' };
    case 'after_wake':
      // The worker may be running with an invalid key. It receives the repair as soon as it can be reached.
      if (status === 'offline' && kind === 'repair') return { action: 'issue' };
      if (work.by === 'owner') {
        return { action: 'refuse', reason: `The agent is ${status}, and only its owner can start it.` };
      }
      if (work.by === 'itself') return { action: 'wake' };
      return {
        action: 'blocked',
        reason: `The agent is ${status} and the setting vmAutoWakeOnJob is off; start it manually.`,
      };
  }
}

/**
 * Thrown if the agent is off and auto-wake is off. `recordBlockedWakeOnError` records the blocked wake on the timeline.
 */
class WakeBlocked extends AppError {
  constructor(
    readonly agentRef: { organizationId: string; agentId: string },
    reason: string,
    agentStatus: AgentStatus,
  ) {
    super('agent_not_ready', { detail: reason, extra: { agentStatus } });
  }
}

/**
 * Locks the agent. Throws if its machine lacks a program that the command needs, or if the command can be issued
 * neither at once nor after a wake.
 */
export async function requireWakeableAgent(
  tx: Transaction,
  agentRef: { organizationId: string; agentId: string },
  kind: CommandKind,
  needs: readonly MachinePart[] = listNeededParts(kind),
): Promise<{ status: AgentStatus; action: 'issue' | 'wake' }> {
  const agent = await lockAgentForCommand(tx, agentRef);
  const { status } = agent;
  const decision = decideCommandReadiness(agent, kind);
  if (decision.action === 'refuse') {
    throw new AppError('agent_not_ready', { detail: decision.reason, extra: { agentStatus: status } });
  }
  const missing = listMissingParts(agent, needs);
  if (missing.length) throw missingPartsError(missing);
  if (decision.action === 'blocked') throw new WakeBlocked(agentRef, decision.reason, status);
  return { status, action: decision.action };
}

/** Issues a command to an agent, and wakes the agent for it if auto-wake is on. */
export async function startCommand(tx: Transaction, request: CommandRequest): Promise<string> {
  const { organizationId, agentId, kind, payload, env, requestedBy, timeoutMs, wakeTimeoutMs, now } = request;
  const { needs = listNeededParts(kind, payload) } = request;
  const agentRef = { organizationId, agentId };
  const { status, action } = await requireWakeableAgent(tx, agentRef, kind, needs);
  const asleep = !isOnStatus(status);
  if (action === 'wake') {
    await requestWake(tx, { ...agentRef, source: 'api', reason: `a ${kind} command waits`, timeoutMs: wakeTimeoutMs });
  }
  const waitsMs = status === 'offline' && action === 'issue' ? repairWaitsMs : asleep ? wakeTimeoutMs : 0;
  const deadline = new Date(now.getTime() + timeoutMs + waitsMs);
  return issueCommand(tx, { ...agentRef, kind, payload, env, requestedBy, deadline });
}

/**
 * Runs the work of a request. If the work fails because auto-wake is off, records the blocked wake on the timeline in a
 * separate transaction, because the request's own transaction is rolled back.
 */
export async function recordBlockedWakeOnError<T>(database: Database, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof WakeBlocked) {
      const { agentRef, message } = error;
      await database.transaction({ organizationId: agentRef.organizationId }, (tx) =>
        recordWakeBlocked(tx, { ...agentRef, source: 'api', reason: message }),
      );
    }
    throw error;
  }
}

async function lockAgentForCommand(
  tx: Transaction,
  { organizationId, agentId }: { organizationId: string; agentId: string },
) {
  const [agent] = await tx.query<WorkFacts & Pick<AgentEntity, 'capabilities'>>(
    `SELECT a.status, a.provider, a.drain, a.capabilities, s.vm_auto_wake_on_job AS auto_wake
     FROM agent a JOIN organization_settings s ON s.organization_id = a.organization_id
     WHERE a.id = $1 AND a.organization_id = $2
     FOR UPDATE OF a`,
    [agentId, organizationId],
    'lock_agent_for_command',
  );
  if (!agent) throw agentNotFoundError();
  return agent;
}
