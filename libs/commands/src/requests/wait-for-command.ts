import { AppError, type CommandStatus } from '@muster/contracts';
import type { Database } from '@muster/database';
import { type PubSub, watchUntilFinal } from '@muster/platform';
import { presentCommandStatus, type CommandStatusRow } from '../ends/read-command';

interface Wait {
  waitMs: number;
  signal?: AbortSignal;
  /** Number of characters of output that the caller has seen. The wait ends early if the output has another length. */
  seenLength?: number;
}

/**
 * Waits until a command has ended and returns the command's status. If the time limit passes or the signal aborts,
 * returns the current status.
 */
export async function waitForCommand(
  { database, pubSub }: { database: Database; pubSub: PubSub },
  { organizationId, agentId, commandId }: { organizationId: string; agentId: string; commandId: string },
  { waitMs, signal, seenLength }: Wait,
): Promise<CommandStatus> {
  const over = AbortSignal.any([AbortSignal.timeout(waitMs), ...(signal ? [signal] : [])]);
  return watchUntilFinal(
    { pubSub, topic: 'command', id: agentId, pollMs: 500, signal: over },
    () => readCommandState(database, { organizationId, agentId, commandId }),
    ({ status, output = '' }) => status !== 'pending' || (seenLength !== undefined && output.length !== seenLength),
  );
}

async function readCommandState(
  database: Database,
  { organizationId, agentId, commandId }: { organizationId: string; agentId: string; commandId: string },
): Promise<CommandStatus> {
  const [row] = await database.query<CommandStatusRow>(
    { organizationId },
    `SELECT status, output, error, error_code FROM agent_command
     WHERE id = $1 AND agent_id = $2 AND organization_id = $3`,
    [commandId, agentId, organizationId],
    'awaited_command',
  );
  if (!row) throw new AppError('not_found', { detail: 'The command no longer exists. Run it again.' });
  return presentCommandStatus(row);
}
