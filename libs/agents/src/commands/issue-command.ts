import type { CommandKind } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { acceptRequestId, currentContext, newId, OpenSpan } from '@muster/platform';
import { type CommandRow, nextPushAfterClaim } from './command-row';
import { type Asked, recordAsked } from './record-actions';

export interface NewCommand {
  organizationId: string;
  agentId: string;
  kind: CommandKind;
  payload: Record<string, unknown>;
  /** What its environment has beside the service's own names; never a secret. */
  env?: Record<string, string>;
  /** Secrets that are put into its environment just before each delivery. */
  vaultKeys?: string[];
  jobId?: string;
  deadline: Date;
  /** The request that it comes from, where that is not the one of this moment: a run's is its job's. */
  origin?: { requestId: string | null; traceparent: string | null };
  /** Told on the agent's timeline. */
  asked?: Asked;
}

/** Writes a command down for its agent. Who is awake delivers it; what is not delivered is tried again by the sweep. */
export async function issueCommand(tx: Transaction, command: NewCommand): Promise<string> {
  const { organizationId, agentId, kind, asked } = command;
  const { id } = insertCommand(tx, command, { isClaimed: false });
  // A run is told with its job.
  if (kind !== 'run' && kind !== 'stop_job') {
    tx.defer(
      `UPDATE agent SET last_activity_at = GREATEST(last_activity_at, muster_now()), last_activity = $2 WHERE id = $1`,
      [agentId, `a ${kind} command`],
      'command_activity',
    );
  }
  if (asked) recordAsked(tx, { organizationId, agentId }, { id, kind, asked });
  await tx.enqueue({ queue: 'dispatch', name: 'deliver-command', payload: { commandId: id } });
  tx.notify('command', agentId);
  return id;
}

/**
 * Writes a run's command down as one that its caller has claimed: the caller delivers it right after its commit, and
 * should it not come to that, the sweep does when the claim is over.
 */
export function issueRun(tx: Transaction, command: Omit<NewCommand, 'kind' | 'asked'>): CommandRow {
  // Who waits for commands is told where the push leaves it to them.
  return insertCommand(tx, { ...command, kind: 'run' }, { isClaimed: true });
}

function insertCommand(tx: Transaction, command: NewCommand, { isClaimed }: { isClaimed: boolean }): CommandRow {
  const { organizationId, agentId, kind, payload, env = {}, vaultKeys = [], jobId = null, deadline } = command;
  const id = newId();
  const { requestId, traceparent } = command.origin ?? currentContext() ?? {};
  const row = {
    ...{ id, organizationId, agentId, kind, payload, env, vaultKeys, jobId, deadline },
    requestId: requestId ?? acceptRequestId(null),
    traceparent: traceparent ?? beginTrace(tx, kind),
  };
  tx.defer(
    `INSERT INTO agent_command
       (id, organization_id, agent_id, kind, payload, env, vault_keys, job_id, deadline, request_id, traceparent,
        next_push_at, pushes)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, ${isClaimed ? `${nextPushAfterClaim}, 1` : 'muster_now(), 0'})`,
    [
      ...[id, organizationId, agentId, kind, JSON.stringify(payload), JSON.stringify(env), vaultKeys, jobId, deadline],
      ...[row.requestId, row.traceparent],
    ],
    isClaimed ? 'issue_run' : 'issue_command',
  );
  return row;
}

/** What nobody asked for, such as the end of a run that is past its time, begins a trace of its own. */
function beginTrace(tx: Transaction, kind: CommandKind): string {
  const span = new OpenSpan({ name: `command ${kind}` });
  tx.onCommit(() => span.end());
  return span.traceparent;
}
