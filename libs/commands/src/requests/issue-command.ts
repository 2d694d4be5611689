import type { CommandKind, StoredVariables } from '@muster/contracts';
import { buildRowStatements, type Transaction } from '@muster/database';
import { chooseRequestId, getRequestContext, newId, OpenSpan } from '@muster/platform';
import { recordCommandActivity } from '@muster/machines';
import { type CommandRow, nextPushAfterLease } from '../command/command-row';
import { type Requester, recordCommandRequest } from '../ends/record-actions';

export interface NewCommand {
  organizationId: string;
  agentId: string;
  kind: CommandKind;
  payload: Record<string, unknown>;
  /** Environment variables in addition to those that the service adds. They never contain a secret. */
  env?: StoredVariables;
  /** Names of the secrets that are added to the environment just before each delivery. */
  vaultKeys?: string[];
  /** Environment variables that get secrets under other names, each with its vault key. */
  secretAliases?: Record<string, string>;
  jobId?: string;
  deadline: Date;
  /**
   * The request that caused the command; by default the current request. The command of a run uses the request that
   * launched its job.
   */
  origin?: { requestId: string | null; traceparent: string | null };
  /** The requester and the reason. If they are set, the request is recorded on the agent's timeline. */
  requestedBy?: Requester;
}

/**
 * Inserts a command, enqueues its delivery and notifies a waiting poll of the worker. The sweep retries commands that
 * were not delivered.
 */
export async function issueCommand(tx: Transaction, command: NewCommand): Promise<string> {
  const { organizationId, agentId, kind, requestedBy } = command;
  const { id } = insertCommandRow(tx, command, { isLeased: false });
  // The activity of a run is recorded by its reports, so its commands record none.
  if (kind !== 'run' && kind !== 'stop_job') recordCommandActivity(tx, agentId, kind);
  if (requestedBy) recordCommandRequest(tx, { organizationId, agentId }, { id, kind, requestedBy });
  await tx.enqueue({ queue: 'dispatch', name: 'deliver-command', payload: { commandId: id } });
  tx.notify('command', agentId);
  return id;
}

/**
 * Inserts the command of a run as already leased. The caller must deliver the command right after the commit. If the
 * caller does not, the sweep delivers the command when the lease ends.
 */
export function issueRunCommand(tx: Transaction, command: Omit<NewCommand, 'kind' | 'requestedBy'>): CommandRow {
  // No poll is notified here, because the push after the commit notifies a waiting poll if it cannot deliver the
  // command.
  return insertCommandRow(tx, { ...command, kind: 'run' }, { isLeased: true });
}

function insertCommandRow(tx: Transaction, command: NewCommand, { isLeased }: { isLeased: boolean }): CommandRow {
  const { organizationId, agentId, kind, payload, env = {}, vaultKeys = [], jobId = null, deadline } = command;
  const { secretAliases = null } = command;
  const id = newId();
  const { requestId, traceparent } = command.origin ?? getRequestContext() ?? {};
  const row = {
    ...{ id, organizationId, agentId, kind, payload, env, vaultKeys, secretAliases, jobId, deadline },
    requestId: requestId ?? chooseRequestId(null),
    traceparent: traceparent ?? startCommandTrace(tx, kind),
  };
  tx.deferRow(isLeased ? insertLeased : insertDue, [
    ...[id, organizationId, agentId, kind, JSON.stringify(payload), JSON.stringify(env), JSON.stringify(vaultKeys)],
    ...[jobId, deadline, row.requestId, row.traceparent, secretAliases && JSON.stringify(secretAliases)],
  ]);
  return row;
}

const insertCommandSql = (push: string) => (rows: string) => `
  INSERT INTO agent_command
    (id, organization_id, agent_id, kind, payload, env, vault_keys, job_id, deadline, request_id, traceparent,
     secret_aliases, next_push_at, pushes)
  SELECT input.id, input.organization_id, input.agent_id, input.kind, input.payload, input.env, ARRAY(SELECT jsonb_array_elements_text(input.vault_keys)),
         input.job_id, input.deadline, input.request_id, input.traceparent, input.secret_aliases, ${push} FROM ${rows}`;
const commandRow = {
  ...{ id: 'uuid', organization_id: 'uuid', agent_id: 'uuid', kind: 'text', payload: 'jsonb', env: 'jsonb' },
  ...{ vault_keys: 'jsonb', job_id: 'uuid', deadline: 'timestamptz', request_id: 'text', traceparent: 'text' },
  secret_aliases: 'jsonb',
};
const insertLeased = buildRowStatements('issue_run', commandRow, insertCommandSql(`${nextPushAfterLease}, 1`));
const insertDue = buildRowStatements('issue_command', commandRow, insertCommandSql('muster_now(), 0'));

/** Starts a new trace for a command that no request caused, such as the stop of a run that exceeded its time limit. */
function startCommandTrace(tx: Transaction, kind: CommandKind): string {
  const span = new OpenSpan({ name: `command ${kind}` });
  tx.onCommit(() => span.end());
  return span.traceparent;
}
