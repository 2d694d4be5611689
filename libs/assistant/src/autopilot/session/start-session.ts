import { audit, type Principal, requireExistingSecrets } from '@muster/access';
import { type AgentBusy, requestWake, assignAgentToSession } from '@muster/machines';
import { requireWakeableAgent } from '@muster/commands';
import {
  AppError,
  type AutopilotBody,
  type AutopilotTask,
  invalidFieldError,
  usdToMicros,
  checkVariableName,
  type SessionStatus,
} from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import { issueOpenCommand } from '../steps/session-commands';
import { requireValidTask } from '../task/check-task';
import { insertSteps, saveSession } from './save-session';
import { appendSessionEvent } from './session-events';
import { lockSession } from './session-row';
import { hashTask } from '../task/task-key';

const defaultLimits = { steps: 50, attemptsPerStep: 5, minutes: 60, costUsd: 5 };

/**
 * Starts a session on a free agent and wakes the agent if its policy allows that. Queue messages then advance the
 * session.
 */
export async function startSession(
  tx: Transaction,
  caller: Principal,
  agentId: string,
  { body, wakeTimeoutMs }: { body: AutopilotBody; wakeTimeoutMs: number },
): Promise<{ sessionId: string; status: SessionStatus }> {
  const { organizationId } = caller;
  const { task, intent, inputs = {}, vaultKeys = [], workflowName, limits = {}, approve = 'never' } = body;
  if ((task === undefined) === (intent === undefined)) {
    throw invalidFieldError('task', 'specify either task or intent', 'Specify what to do: either task or intent.');
  }
  if (task) requireValidTask(task);
  requireInputNames(inputs, vaultKeys);
  if (task) requireInputValues(task, [...Object.keys(inputs), ...vaultKeys]);
  await requireExistingSecrets(tx, organizationId, vaultKeys);
  const { status: agentStatus, action } = await requireWakeableAgent(tx, { organizationId, agentId }, 'autopilot_open');
  const id = newId();
  requireFreeAgent(await assignAgentToSession(tx, { organizationId, agentId }, id), agentStatus);
  if (action === 'wake') {
    const reason = 'an autopilot session waits';
    await requestWake(tx, { organizationId, agentId, source: 'api', reason, timeoutMs: wakeTimeoutMs });
  }
  const { steps, attemptsPerStep, minutes, costUsd } = { ...defaultLimits, ...omitUndefined(limits) };
  const { kind, id: actorId } = caller;
  const askedBy = { kind, id: actorId, ...(caller.kind === 'user' ? { email: caller.email } : {}) };
  await tx.execute(
    `INSERT INTO autopilot_session
       (id, organization_id, agent_id, phase, asked_by, intent, task, task_key, inputs, vault_keys, workflow_name,
        max_steps, max_attempts, max_active_ms, max_cost_micros, approve)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
    [
      ...[id, organizationId, agentId, task ? 'open' : 'plan', JSON.stringify(askedBy), intent ?? null],
      ...[task ? JSON.stringify(task) : null, task ? hashTask(task) : null, JSON.stringify(inputs), vaultKeys],
      ...[workflowName ?? null, steps, attemptsPerStep, Math.round(minutes * 60_000), usdToMicros(costUsd), approve],
    ],
    'insert_autopilot_session',
  );
  const session = (await lockSession(tx, id))!;
  if (task) {
    insertSteps(tx, session, task);
    await issueOpenCommand(tx, session, { waitsMs: wakeTimeoutMs });
    saveSession(tx, session);
  } else {
    await tx.enqueue({ queue: 'autopilot', name: 'advance-session', payload: { sessionId: id } });
  }
  const title = task?.title ?? null;
  appendSessionEvent(tx, session, {
    type: 'session',
    data: { status: 'queued', previousStatus: null },
    message: `autopilot session queued: ${title ?? 'its task is being written'}`,
    source: caller.kind === 'user' ? 'console' : 'api',
  });
  audit(tx, caller, {
    action: 'autopilot.start',
    target: { type: 'autopilot_session', id },
    changes: { agentId, title, inputs: Object.keys(inputs), vaultKeys },
  });
  return { sessionId: id, status: 'queued' };
}

/** Throws invalid_payload if the session has no value for an input of the task. */
export function requireInputValues({ inputs }: AutopilotTask, names: readonly string[]): void {
  const errors = inputs
    .filter((name) => !names.includes(name))
    .map((name) => ({ field: `inputs.${name}`, message: `the task needs ${name}: an input or a vault key` }));
  if (errors.length) throw new AppError('invalid_payload', { detail: `${errors[0]!.message}.`, errors });
}

function requireInputNames(inputs: Record<string, string>, vaultKeys: readonly string[]): void {
  for (const name of Object.keys(inputs)) {
    const message =
      checkVariableName(name) ??
      (vaultKeys.includes(name) ? `the input ${name} has the name of a vault key; rename the input` : null);
    if (message) throw invalidFieldError(`inputs.${name}`, message, message);
  }
}

function requireFreeAgent(taken: AgentBusy | null, agentStatus: string): void {
  if (!taken) return;
  const by = 'jobId' in taken ? `job ${taken.jobId}` : `autopilot session ${taken.sessionId}`;
  throw new AppError('agent_not_ready', {
    detail: `The agent is in use by ${by}. Wait until it has ended, or cancel it.`,
    extra: { agentStatus, ...taken },
  });
}

function omitUndefined<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined)) as Partial<T>;
}
