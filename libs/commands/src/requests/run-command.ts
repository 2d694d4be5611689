import { audit, type Principal } from '@muster/access';
import type { Transaction } from '@muster/database';
import { type CommandRequest, startCommand } from './start-command';

export type CommandToRun = Omit<CommandRequest, 'organizationId' | 'agentId'>;

/** Issues a command on behalf of the caller and writes an audit row. Returns the command's id. */
export async function runCommand(
  tx: Transaction,
  caller: Principal,
  agentId: string,
  command: CommandToRun,
): Promise<string> {
  const { kind, payload } = command;
  const commandId = await startCommand(tx, { organizationId: caller.organizationId, agentId, ...command });
  const pushed = kind === 'script' ? { workflowId: payload.workflowId } : {};
  audit(tx, caller, {
    action: kind === 'script' ? 'agent.push_script' : `agent.run_${kind}`,
    target: { type: 'agent', id: agentId },
    changes: { commandId, ...pushed },
  });
  return commandId;
}
