import type { AgentStatus, CommandKind, MachinePart } from '@muster/contracts';
import { AppError } from '@muster/contracts';
import type { AgentEntity, Database, Transaction } from '@muster/database';
import { noSuchAgent } from '../registry/agent-row';
import { isOn, mayTakeWork, type WorkFacts } from '../lifecycle/agent-life';
import { recordWakeBlocked, requestWake } from '../lifecycle/wakes';
import { machineCannot, missingParts, needsOf } from '../reports/machine-capabilities';
import { issueCommand } from './issue-command';
import type { Asked } from './record-actions';

export interface CommandRequest {
  organizationId: string;
  agentId: string;
  kind: CommandKind;
  payload: Record<string, unknown>;
  /** What the machine must have for it, where that is more than any command of its kind needs. */
  needs?: readonly MachinePart[];
  env?: Record<string, string>;
  asked?: Asked;
  /** How long it may take, from the moment that the agent is on. */
  timeoutMs: number;
  wakeTimeoutMs: number;
  now: Date;
}

export type CommandReadiness = { action: 'issue' | 'wake' } | { action: 'blocked' | 'refuse'; reason: string };

/** They end what runs, look into it, or make the machine well again: a draining agent takes them too. */
const nothingNew: readonly CommandKind[] = ['stop_job', 'attach_recording', 'stop_recording', 'repair', 'restart'];
/** A repair that nobody takes now waits for the worker's next word. */
const repairWaitsMs = 24 * 3_600_000;

/** Whether a command may go to the agent as it is: at once, after a wake, or not at all. */
export function decideCommand({ drain, ...agent }: WorkFacts, kind: CommandKind): CommandReadiness {
  const { status } = agent;
  const passesDrain = nothingNew.includes(kind);
  const work = mayTakeWork({ ...agent, drain: passesDrain ? null : drain });
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
      // Its worker may be there and only its key be dead: it is told as soon as it can be.
      if (status === 'offline' && kind === 'repair') return { action: 'issue' };
      if (work.by === 'owner') {
        return { action: 'refuse', reason: `The agent is ${status}, and only its owner can start it.` };
      }
      if (work.by === 'itself') return { action: 'wake' };
      return { action: 'blocked', reason: `The agent is ${status} and auto-wake is off; start it manually.` };
  }
}

/** The agent sleeps and may not be woken. Remembered on its timeline by `explainingBlocked`. */
class WakeBlocked extends AppError {
  constructor(
    readonly of: { organizationId: string; agentId: string },
    reason: string,
    agentStatus: AgentStatus,
  ) {
    super('agent_not_ready', { detail: reason, extra: { agentStatus } });
  }
}

/** Throws unless the agent has what such a command needs and can be given it, at once or after a wake. Holds its lock. */
export async function requireWakeable(
  tx: Transaction,
  of: { organizationId: string; agentId: string },
  kind: CommandKind,
  needs: readonly MachinePart[] = needsOf(kind),
): Promise<{ status: AgentStatus; action: 'issue' | 'wake' }> {
  const agent = await lockForCommand(tx, of);
  const { status } = agent;
  const decision = decideCommand(agent, kind);
  if (decision.action === 'refuse') {
    throw new AppError('agent_not_ready', { detail: decision.reason, extra: { agentStatus: status } });
  }
  const missing = missingParts(agent, needs);
  if (missing.length) throw machineCannot(missing);
  if (decision.action === 'blocked') throw new WakeBlocked(of, decision.reason, status);
  return { status, action: decision.action };
}

/** Writes a command down for an agent, and wakes the agent for it where that is allowed. */
export async function startCommand(tx: Transaction, request: CommandRequest): Promise<string> {
  const { organizationId, agentId, kind, payload, env, asked, timeoutMs, wakeTimeoutMs, now } = request;
  const { needs = needsOf(kind, payload) } = request;
  const of = { organizationId, agentId };
  const { status, action } = await requireWakeable(tx, of, kind, needs);
  const asleep = !isOn(status);
  if (action === 'wake') {
    await requestWake(tx, { ...of, source: 'api', reason: `a ${kind} command waits`, timeoutMs: wakeTimeoutMs });
  }
  const waitsMs = status === 'offline' && action === 'issue' ? repairWaitsMs : asleep ? wakeTimeoutMs : 0;
  const deadline = new Date(now.getTime() + timeoutMs + waitsMs);
  return issueCommand(tx, { ...of, kind, payload, env, asked, deadline });
}

/** Keeps on the timeline that a wake was blocked, although the request's own transaction leaves nothing behind. */
export async function explainingBlocked<T>(database: Database, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof WakeBlocked) {
      const { of, message } = error;
      await database.transaction({ organizationId: of.organizationId }, (tx) =>
        recordWakeBlocked(tx, { ...of, source: 'api', reason: message }),
      );
    }
    throw error;
  }
}

async function lockForCommand(
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
  if (!agent) throw noSuchAgent();
  return agent;
}
