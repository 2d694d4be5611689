import type { Principal } from '@muster/access';
import {
  type CommandActionParts,
  deployExtension,
  requireActionField,
  attachOrStopRecording,
  repairWorker,
  startRecording,
} from '@muster/commands';
import { loadAgent, requireSwitchableMachine, startAgent } from '@muster/machines';
import {
  type AgentActionAnswer,
  type AgentActionBody,
  type AgentStatus,
  AppError,
  hasPermission,
  type Permission,
} from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { cancelJob } from '../ends/cancel-job';
import { type Acted, requireJobOfAgent, startJob } from './start-job';
import { rebootAgentAndRuns, stopAgentAndRuns, terminateAgentAndRuns } from './switch-agent';

/** Executes one of the eleven actions on an agent. */
export async function performAgentAction(
  tx: Transaction,
  caller: Principal,
  id: string,
  body: AgentActionBody,
  parts: CommandActionParts,
): Promise<Acted> {
  const { action } = body;
  const toActed = (status: AgentStatus, more: Partial<AgentActionAnswer> = {}): Acted => ({
    answer: { success: true, action, status, ...more },
  });
  switch (action) {
    case 'start':
      return toActed((await startAgent(tx, caller, id, parts.wakeTimeoutMs)).status);
    case 'stop':
      return toActed((await stopAgentAndRuns(tx, caller, id, body)).status);
    case 'reboot':
      return toActed((await rebootAgentAndRuns(tx, caller, id)).status);
    case 'terminate':
      await terminateAsAdmin(tx, caller, id, body);
      return toActed('terminated');
    case 'start_job':
      requirePermissionForAction(caller, 'runs.write', 'Starting a run');
      return startJob(tx, caller, id, body, parts);
    case 'stop_job': {
      requirePermissionForAction(caller, 'runs.write', 'Cancelling a run');
      const agent = await loadAgent(tx, caller.organizationId, id);
      const jobId = requireActionField(body, 'jobId');
      await requireJobOfAgent(tx, caller, id, jobId);
      await cancelJob(tx, caller, jobId, { reason: body.reason, now: parts.now });
      return toActed(agent.status, { jobId });
    }
    case 'repair':
      return { answer: await repairWorker(tx, caller, id, body, parts) };
    case 'start_recording':
      return { answer: await startRecording(tx, caller, id, body, parts) };
    case 'attach_recording':
    case 'stop_recording':
      return { answer: await attachOrStopRecording(tx, caller, id, body, parts) };
    case 'deploy_extension':
      return { answer: await deployExtension(tx, caller, id, body, parts) };
  }
}

/** Throws unless the caller may also do what the action does in addition to controlling the agent. */
function requirePermissionForAction(caller: Principal, permission: Permission, action: string): void {
  if (hasPermission(caller, permission)) return;
  throw new AppError('permission_denied', { detail: `${action} needs the permission ${permission}.` });
}

async function terminateAsAdmin(
  tx: Transaction,
  caller: Principal,
  id: string,
  { force }: AgentActionBody,
): Promise<void> {
  requirePermissionForAction(caller, 'agents.admin', 'Terminating an agent');
  requireSwitchableMachine(await loadAgent(tx, caller.organizationId, id), 'terminated');
  await terminateAgentAndRuns(tx, caller, id, { force });
}
