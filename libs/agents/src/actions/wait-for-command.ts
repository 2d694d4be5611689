import { AppError, type CommandStatus } from '@muster/contracts';
import type { AgentCommandEntity, Database } from '@muster/database';
import { type PubSub, within } from '@muster/platform';

const lookMs = 500;

interface Wait {
  waitMs: number;
  signal?: AbortSignal;
  /** Also ends with other output than that of this length. */
  seen?: number;
}

/** What came of a command, as soon as it is over; as it stands where that takes longer, or the signal ends the wait. */
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
      // A notice can be lost, so it also looks by itself.
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
