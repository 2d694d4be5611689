import { AppError, type CommandStatus } from '@muster/contracts';
import type { AgentCommandEntity, Database } from '@muster/database';
import { type PubSub, within } from '@muster/platform';

const lookMs = 500;

interface Wait {
  waitMs: number;
  signal?: AbortSignal;
  /** Also returns if the length of the output differs from this. */
  seen?: number;
}

/**
 * Waits until a command has ended and returns its status. Returns the current status if the time is over or the signal
 * aborts.
 */
export async function waitForCommand(
  { database, pubSub }: { database: Database; pubSub: PubSub },
  { organizationId, agentId, commandId }: { organizationId: string; agentId: string; commandId: string },
  { waitMs, signal, seen }: Wait,
): Promise<CommandStatus> {
  const over = AbortSignal.any([AbortSignal.timeout(waitMs), ...(signal ? [signal] : [])]);
  let hear: (() => void) | undefined;
  const unsubscribe = pubSub.subscribe('command', (id) => id === agentId && hear?.());
  try {
    for (;;) {
      const heard = new Promise<void>((resolve) => (hear = resolve));
      const found = await readCommand(database, { organizationId, agentId, commandId });
      const isNews = seen !== undefined && (found.output ?? '').length !== seen;
      if (found.status !== 'pending' || isNews || over.aborted) return found;
      // A notification can be lost, so the command is also polled.
      await within(lookMs, heard, () => undefined, over);
    }
  } finally {
    unsubscribe();
  }
}

async function readCommand(
  database: Database,
  { organizationId, agentId, commandId }: { organizationId: string; agentId: string; commandId: string },
): Promise<CommandStatus> {
  const [row] = await database.query<Pick<AgentCommandEntity, 'status' | 'output' | 'error' | 'errorCode'>>(
    { organizationId },
    `SELECT status, output, error, error_code FROM agent_command
     WHERE id = $1 AND agent_id = $2 AND organization_id = $3`,
    [commandId, agentId, organizationId],
    'awaited_command',
  );
  if (!row) throw new AppError('not_found', { detail: 'The command was deleted.' });
  const { status, output, error, errorCode } = row;
  return {
    status,
    ...(output === null ? {} : { output }),
    ...(error === null ? {} : { error }),
    ...(errorCode === null ? {} : { code: errorCode }),
  };
}
