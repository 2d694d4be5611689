import type { AgentScript, CommandKind, CommandStatus } from '@muster/contracts';
import type { AgentCommandEntity, Database } from '@muster/database';
import { noSuchAgent } from '../registry/agent-row';
import { noSuchCommand } from './receive-result';

/** How a command of one of these kinds stands. */
export async function readCommandStatus(
  database: Database,
  of: { organizationId: string; agentId: string; commandId: string },
  kinds: readonly CommandKind[],
): Promise<CommandStatus> {
  const { organizationId, agentId, commandId } = of;
  const [row] = await database.query<Pick<AgentCommandEntity, 'status' | 'output' | 'error' | 'errorCode'>>(
    { organizationId },
    `SELECT status, output, error, error_code FROM agent_command
     WHERE id = $1 AND agent_id = $2 AND organization_id = $3 AND kind = ANY($4)`,
    [commandId, agentId, organizationId, kinds],
    'command_status',
  );
  if (!row) throw await noSuchAgentOrCommand(database, organizationId, agentId);
  const { status, output, error, errorCode: code } = row;
  return {
    status,
    ...(output === null ? {} : { output }),
    ...(error === null ? {} : { error }),
    ...(code === null ? {} : { code }),
  };
}

/** What a machine may ask for again: the payload of one of its commands, by the command or by its job. */
export async function readScript(
  database: Database,
  of: { organizationId: string; agentId: string },
  wanted: { commandId?: string; jobId?: string },
): Promise<AgentScript> {
  const { organizationId, agentId } = of;
  const [row] = await database.query<AgentScript & Record<string, unknown>>(
    { organizationId },
    `SELECT id AS command_id, job_id, kind, payload FROM agent_command
     WHERE agent_id = $1 AND organization_id = $2 AND ($3::uuid IS NULL OR id = $3)
       AND ($4::uuid IS NULL OR job_id = $4) AND kind IN ('run', 'script', 'snippet', 'function', 'builder')
       -- A run that is over has given its script back: it stands in the workflow's revision.
       AND (kind <> 'run' OR payload ? 'script')
     ORDER BY id DESC LIMIT 1`,
    [agentId, organizationId, wanted.commandId ?? null, wanted.jobId ?? null],
    'read_script',
  );
  if (!row) throw await noSuchAgentOrCommand(database, organizationId, agentId);
  return row;
}

async function noSuchAgentOrCommand(database: Database, organizationId: string, agentId: string) {
  const [agent] = await database.query(
    { organizationId },
    'SELECT id FROM agent WHERE id = $1 AND organization_id = $2',
    [agentId, organizationId],
  );
  return agent ? noSuchCommand() : noSuchAgent();
}
