import { audit, type Principal } from '@muster/access';
import { AppError } from '@muster/contracts';
import type { Database } from '@muster/database';
import type { Clock, PubSub } from '@muster/platform';
import { waitForCommand } from '../requests/wait-for-command';
import { issueCommand } from '../requests/issue-command';
import { isOnStatus, loadAgent } from '@muster/machines';

export interface RunFilesRequest {
  action: 'list' | 'read';
  /** Path relative to the worker's folder of runs. */
  path: string;
}

export type RunFilesAnswer =
  { found: Record<string, unknown> } | { refused: { error: string; code: string | undefined } };

const waitMs = 15_000;

/**
 * Reads the worker's folder of runs through the worker, which allows no access outside of this folder. A machine that
 * is off is not woken, and the worker's answer is not stored.
 */
export async function readRunFiles(
  parts: { database: Database; pubSub: PubSub; clock: Clock },
  caller: Principal,
  agentId: string,
  { action, path }: RunFilesRequest,
  signal?: AbortSignal,
): Promise<RunFilesAnswer> {
  const { organizationId } = caller;
  const { database, clock } = parts;
  const commandId = await database.transaction({ organizationId }, async (tx) => {
    const { status } = await loadAgent(tx, organizationId, agentId, 'lock');
    if (!isOnStatus(status)) {
      const detail = `The agent is ${status}. Its files can only be read while it is online.`;
      throw new AppError('agent_not_ready', { detail, extra: { agentStatus: status } });
    }
    const deadline = new Date(clock.now().getTime() + waitMs);
    audit(tx, caller, {
      action: `agent.${action}_files`,
      target: { type: 'agent', id: agentId },
      changes: { path: path.slice(0, 500) },
    });
    return issueCommand(tx, { organizationId, agentId, kind: 'files', payload: { action, path }, deadline });
  });
  const commandRef = { organizationId, agentId, commandId };
  const { status, output, error, code } = await waitForCommand(parts, commandRef, { waitMs: waitMs + 1000, signal });
  if (status === 'pending' || code === 'execution_timeout') {
    throw new AppError('execution_timeout', {
      detail: 'The worker of the machine did not answer in time. Check that the agent is online, then try again.',
    });
  }
  if (status === 'failed') return { refused: { error: error ?? 'The worker refused without a reason.', code } };
  await database.queryUnflushed(
    { organizationId },
    `UPDATE agent_command SET output = NULL WHERE id = $1 AND organization_id = $2`,
    [commandId, organizationId],
    'forget_files',
  );
  return { found: JSON.parse(output ?? '{}') as Record<string, unknown> };
}
