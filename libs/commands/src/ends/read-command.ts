import {
  type AgentScript,
  type CommandKind,
  type CommandQuery,
  type CommandStatus,
  notFoundError,
  agentNotFoundError,
} from '@muster/contracts';
import { type AgentCommandEntity, type Database, containsIgnoringCaseSql, scanRowsSql } from '@muster/database';
import type { Page } from '@muster/platform';
import { findAgent } from '@muster/machines';

/** Returns the status of a command. Throws if the kind of the command is not one of the allowed kinds. */
export async function readCommandStatus(
  database: Database,
  commandRef: { organizationId: string; agentId: string; commandId: string },
  kinds: readonly CommandKind[],
): Promise<CommandStatus> {
  const { organizationId, agentId, commandId } = commandRef;
  const [row] = await database.query<CommandStatusRow>(
    { organizationId },
    `SELECT status, output, error, error_code FROM agent_command
     WHERE id = $1 AND agent_id = $2 AND organization_id = $3 AND kind = ANY($4)`,
    [commandId, agentId, organizationId, kinds],
    'command_status',
  );
  if (!row) throw await agentOrCommandNotFoundError(database, organizationId, agentId);
  return presentCommandStatus(row);
}

export type CommandStatusRow = Pick<AgentCommandEntity, 'status' | 'output' | 'error' | 'errorCode'>;

export function presentCommandStatus({ status, output, error, errorCode: code }: CommandStatusRow): CommandStatus {
  return {
    status,
    ...(output === null ? {} : { output }),
    ...(error === null ? {} : { error }),
    ...(code === null ? {} : { code }),
  };
}

/**
 * Returns the payload of one of the agent's commands. The command is found by its own id or by the id of its job. A
 * worker may request the payload several times.
 */
export async function readRunScript(
  database: Database,
  agentRef: { organizationId: string; agentId: string },
  wanted: { commandId?: string; jobId?: string },
): Promise<AgentScript> {
  const { organizationId, agentId } = agentRef;
  const [row] = await database.query<AgentScript & Record<string, unknown>>(
    { organizationId },
    `SELECT id AS command_id, job_id, kind, payload FROM agent_command
     WHERE agent_id = $1 AND organization_id = $2 AND ($3::uuid IS NULL OR id = $3)
       AND ($4::uuid IS NULL OR job_id = $4) AND kind IN ('run', 'script', 'snippet', 'function', 'builder')
       -- The script of an ended run was removed from its command; the workflow's revision has it.
       AND (kind <> 'run' OR payload ? 'script')
     ORDER BY id DESC LIMIT 1`,
    [agentId, organizationId, wanted.commandId ?? null, wanted.jobId ?? null],
    'read_script',
  );
  if (!row) throw await agentOrCommandNotFoundError(database, organizationId, agentId);
  return row;
}

export async function agentOrCommandNotFoundError(database: Database, organizationId: string, agentId: string) {
  const [agent] = await database.query(
    { organizationId },
    'SELECT id FROM agent WHERE id = $1 AND organization_id = $2',
    [agentId, organizationId],
  );
  return agent ? notFoundError('command') : agentNotFoundError();
}

export type ListedCommand = Pick<
  AgentCommandEntity,
  'id' | 'kind' | 'status' | 'jobId' | 'error' | 'errorCode' | 'createdAt' | 'takenAt' | 'deadline' | 'finishedAt'
>;

const columns = 'id, kind, status, job_id, error, error_code, created_at, taken_at, deadline, finished_at';

/** Lists an agent's commands, newest first, because ids increase with time. */
export async function listCommands(
  database: Database,
  { organizationId, agentId }: { organizationId: string; agentId: string },
  { page, filter: { status, kind, q } }: { page: Page; filter: CommandQuery },
): Promise<ListedCommand[]> {
  const values: unknown[] = [organizationId, agentId];
  const addParameter = (value: unknown) => `$${values.push(value)}`;
  const within = ['organization_id = $1', 'agent_id = $2'];
  if (page.after) within.push(`id < ${addParameter(page.after[0])}`);
  const looked: string[] = [];
  if (status) looked.push(`status = ${addParameter(status)}`);
  if (kind) looked.push(`kind = ${addParameter(kind)}`);
  if (q) {
    const text = addParameter(q);
    looked.push(`(lower(${text}) IN (id::text, job_id::text) OR ${containsIgnoringCaseSql('error', text)})`);
  }
  const limit = addParameter(page.limit + 1);
  // The list is searched without payloads and outputs, because these columns are large.
  const from = `(SELECT organization_id, agent_id, id, kind, status, job_id, left(error, 1000) AS error, error_code,
    created_at, taken_at, deadline, finished_at FROM agent_command) command`;
  const listed = scanRowsSql({ from, columns, within, filter: looked, order: 'id DESC', limit });
  const rows = await database.query<ListedCommand>({ organizationId }, listed, values);
  if (rows.length === 0) await findAgent(database, organizationId, agentId);
  return rows;
}
