import { isOffStatus, isOnStatus, setAgentStatus, releaseAgentOfSession } from '@muster/machines';
import { withdrawCommand } from '@muster/commands';
import { shortenText } from '@muster/contracts';
import { closeSessionQuestions } from '@muster/jobs';
import type { AgentEntity, AutopilotEnding } from '@muster/database';
import { endOpenAttempts } from '../steps/attempts';
import type { EndedCommand } from '../steps/ended-command';
import { issueCloseCommand } from '../steps/session-commands';
import type { Work } from '../steps/work';
import { decideSessionClosing } from './decide-closing';
import { createWorkflowFromSession } from './create-workflow-from-session';
import { changeSessionStatus } from './change-session-status';

type Agent = Pick<AgentEntity, 'status' | 'provider'> & { booted: boolean };

const maxErrorLength = 4000;

/** Starts to end a session: its browser is closed first. A session without a browser ends at once. */
export async function startEndingSession(work: Work, ending: AutopilotEnding): Promise<void> {
  const { tx, session } = work;
  session.ending = { ...ending, error: ending.error && shortenText(ending.error, maxErrorLength) };
  session.held = null;
  session.asking = null;
  const { organizationId, id: sessionId } = session;
  await closeSessionQuestions(tx, { organizationId, sessionId, reason: 'The session ends.' });
  endOpenAttempts(work, ending.to === 'cancelled' ? 'The session was cancelled.' : 'The session ended.');
  const agent = await readSessionAgent(work);
  // A command that the agent never received has opened no browser.
  if (session.commandId && !isOnStatus(agent.status)) {
    const unopened = session.status === 'queued';
    if (await withdrawCommand(tx, session.commandId, 'The session ended before the agent received the command.')) {
      if (unopened) return finishEndingSession(work);
    }
  } else if (!session.commandId && session.status === 'queued') {
    return finishEndingSession(work);
  }
  if (isOffStatus(agent.status)) return finishEndingSession(work);
  await issueCloseCommand(tx, session);
}

/**
 * Finishes a session if its machine is off, without a confirmation that its browser is closed. Returns whether the
 * machine is off.
 */
export async function finishSessionIfMachineIsOff(work: Work): Promise<boolean> {
  const { tx, session } = work;
  const { status } = await readSessionAgent(work);
  if (!isOffStatus(status)) return false;
  if (session.commandId) await withdrawCommand(tx, session.commandId, `The machine is ${status}.`);
  await finishEndingSession(work);
  return true;
}

/** Processes the end of a close command. Only a cancelled session waits until its browser is certainly closed. */
export async function applyCloseResult(work: Work, { status, output }: EndedCommand): Promise<void> {
  const { session } = work;
  const closed = status === 'success' && output?.['remaining'] === 0;
  const agent = await readSessionAgent(work);
  const decision = decideSessionClosing({
    to: session.ending!.to,
    closed,
    closeStep: session.closeStep,
    agentStatus: agent.status,
    provider: agent.provider,
    booted: agent.booted,
  });
  switch (decision.action) {
    case 'finish':
      return finishEndingSession(work);
    case 'again':
      return issueCloseCommand(work.tx, session);
    case 'reboot':
      return rebootToCloseBrowser(work, decision.reason);
    case 'wait':
      session.dueAt = new Date(session.now.getTime() + recheckDelayMs);
  }
}

const recheckDelayMs = 5000;

async function rebootToCloseBrowser({ tx, session }: Work, reason: string): Promise<void> {
  const { organizationId, agentId } = session;
  const isRebooting = await setAgentStatus(tx, {
    organizationId,
    agentId,
    move: 'recovery_reboot',
    to: 'rebooting',
    source: 'watchdog',
    reason,
  });
  if (isRebooting) await tx.enqueue({ queue: 'dispatch', name: 'control-agent', payload: { agentId } });
  session.closeStep += 1;
  session.dueAt = new Date(session.now.getTime() + recheckDelayMs);
}

/**
 * Sets a session's terminal status; no other code does. The same transaction creates the workflow of a completed
 * session and releases the agent.
 */
export async function finishEndingSession(work: Work): Promise<void> {
  const { tx, session } = work;
  const { to, error, code } = session.ending!;
  if (to === 'completed') session.workflowId = await createWorkflowFromSession(work);
  const changes = { completed: 'complete', failed: 'fail', cancelled: 'cancel' } as const;
  const reason = error ?? { completed: 'all its steps are done', failed: 'it failed', cancelled: 'on request' }[to];
  await changeSessionStatus(tx, session, { change: changes[to], source: 'dispatcher', reason, error, code });
  session.phase = 'over';
  session.commandId = null;
  session.dueAt = null;
  session.ending = null;
  session.look = null;
  releaseAgentOfSession(tx, session.agentId, session.id);
  await tx.enqueue({ queue: 'dispatch', name: 'dispatch-agent', payload: { agentId: session.agentId } });
}

async function readSessionAgent({ tx, session }: Work): Promise<Agent> {
  const [agent] = await tx.query<Agent>(
    `SELECT a.status, a.provider, a.status IN ('online', 'draining') AND a.status_source = 'handshake'
              AND a.status_since > COALESCE((SELECT c.created_at FROM agent_command c WHERE c.id = $2), 'infinity') AS booted
     FROM agent a WHERE a.id = $1`,
    [session.agentId, session.commandId],
    'autopilot_agent',
  );
  return agent!;
}
