import type { Principal } from '@muster/access';
import {
  type CommandActionParts,
  deployExtension,
  needed,
  attachOrStopRecording,
  repairWorker,
  startRecording,
} from '@muster/commands';
import { loadAgent, requireSwitch, startAgent } from '@muster/machines';
import { type AgentActionAnswer, type AgentActionBody, type AgentStatus, AppError, hasRole } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { cancelJob } from '../ends/cancel-job';
import { type Acted, requireJobOf, startJob } from './start-job';
import { rebootAgentAndRuns, stopAgentAndRuns, terminateAgentAndRuns } from './switch-agent';

/** Executes one of the eleven actions on an agent. */
export async function actOnAgent(
  tx: Transaction,
  caller: Principal,
  id: string,
  body: AgentActionBody,
  parts: CommandActionParts,
): Promise<Acted> {
  const { action } = body;
  const done = (status: AgentStatus, more: Partial<AgentActionAnswer> = {}): Acted => ({
    answer: { success: true, action, status, ...more },
  });
  switch (action) {
    case 'start':
      return done((await startAgent(tx, caller, id, parts.wakeTimeoutMs)).status);
    case 'stop':
      return done((await stopAgentAndRuns(tx, caller, id, body)).status);
    case 'reboot':
      return done((await rebootAgentAndRuns(tx, caller, id)).status);
    case 'terminate':
      await terminate(tx, caller, id, body);
      return done('terminated');
    case 'start_job':
      return startJob(tx, caller, id, body, parts);
    case 'stop_job': {
      const agent = await loadAgent(tx, caller.organizationId, id);
      const jobId = needed(body, 'jobId');
      await requireJobOf(tx, caller, id, jobId);
      await cancelJob(tx, caller, jobId, { reason: body.reason, now: parts.now });
      return done(agent.status, { jobId });
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

async function terminate(tx: Transaction, caller: Principal, id: string, { force }: AgentActionBody): Promise<void> {
  if (!hasRole(caller.role, 'admin')) {
    throw new AppError('permission_denied', { detail: 'Only an admin can terminate an agent.' });
  }
  requireSwitch(await loadAgent(tx, caller.organizationId, id), 'terminated');
  await terminateAgentAndRuns(tx, caller, id, { force });
}
