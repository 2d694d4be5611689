import { audit, loadSecretRedactor, type Principal } from '@muster/access';
import { loadAgent } from '@muster/machines';
import { AppError, hasPermission, invalidFieldError } from '@muster/contracts';
import type { ChatSessionEntity, ChatTurnEntity, Transaction } from '@muster/database';
import { newId, toStorableText } from '@muster/platform';
import type { ToolParts } from '../tools/tool';
import { chatSessionNotFoundError, getOwnerColumns } from './session-owner';

export interface ChatInput {
  message: string;
  sessionId?: string;
  autoConfirm?: boolean;
}

export interface BegunTurn {
  sessionId: string;
  turnId: string;
  /** The message as it is stored, with secrets hidden. */
  message: string;
  /** Whether tools that change something need no confirmation. */
  autoConfirm: boolean;
}

/** Time without a heartbeat after which the process of a turn counts as dead, in seconds. */
export const silentAfterSeconds = 30;

export const diedOver = 'The call was started, but the process that executed it died: check whether it took effect.';

/**
 * Stores the message as a turn of its session, or of a new session. A second message is rejected while a turn is
 * running, so that the model gets the messages in one order. A turn whose process died is ended here.
 */
export async function startTurn(
  parts: Pick<ToolParts, 'database' | 'clock' | 'keyRing'>,
  caller: Principal,
  agentId: string,
  { message: typed, sessionId: existingId, autoConfirm = false }: ChatInput,
): Promise<BegunTurn> {
  const { organizationId } = caller;
  const { database, clock } = parts;
  // Vault values that a person typed are neither stored nor sent to the model.
  const message = (await loadSecretRedactor(parts, { organizationId, agentId })).text(typed);
  const maySkipConfirmation = hasPermission(caller, 'agents.admin');
  return database.transaction({ organizationId }, async (tx) => {
    await loadAgent(tx, organizationId, agentId);
    if (autoConfirm && !maySkipConfirmation) {
      throw new AppError('permission_denied', {
        detail: 'Only a user with the permission agents.admin can set autoConfirm. Send the message without it.',
      });
    }
    if (autoConfirm && existingId) {
      throw invalidFieldError('autoConfirm', 'autoConfirm can be set only when a session starts');
    }
    const now = clock.now();
    const session = existingId
      ? await lockIdleSession(tx, caller, agentId, existingId, now)
      : insertChatSession(tx, caller, agentId, { title: shortenToTitle(message), autoConfirm, now });
    const turnId = newId();
    tx.deferStatement(`INSERT INTO chat_turn (id, organization_id, session_id, message) VALUES ($1, $2, $3, $4)`, [
      ...[turnId, organizationId, session.id, message],
    ]);
    audit(tx, caller, {
      action: 'assistant.message',
      target: { type: 'agent', id: agentId },
      changes: { sessionId: session.id, ...(autoConfirm ? { autoConfirm } : {}) },
    });
    // A caller who has lost the permission has lost autoConfirm as well.
    return { sessionId: session.id, turnId, message, autoConfirm: session.autoConfirm && maySkipConfirmation };
  });
}

type Session = Pick<ChatSessionEntity, 'id' | 'autoConfirm'>;

async function lockIdleSession(
  tx: Transaction,
  caller: Principal,
  agentId: string,
  id: string,
  now: Date,
): Promise<Session> {
  const [organizationId, ownerKind, ownerId] = getOwnerColumns(caller);
  const [session] = await tx.query<Session>(
    `SELECT id, auto_confirm FROM chat_session
     WHERE id = $1 AND organization_id = $2 AND agent_id = $3 AND owner_kind = $4 AND owner_id = $5 FOR UPDATE`,
    [id, organizationId, agentId, ownerKind, ownerId],
  );
  if (!session) throw chatSessionNotFoundError();
  await endSilentTurn(tx, organizationId, id);
  const [running] = await tx.query<Pick<ChatTurnEntity, 'id'>>(
    `SELECT id FROM chat_turn WHERE session_id = $1 AND organization_id = $2 AND status = 'running'`,
    [id, organizationId],
  );
  if (running) {
    const detail = 'The session is still answering its last message; wait for that answer, or start another session.';
    throw new AppError('conflict', { detail, headers: { 'retry-after': '2' } });
  }
  tx.deferStatement(`UPDATE chat_session SET updated_at = $3 WHERE id = $1 AND organization_id = $2`, [
    id,
    organizationId,
    now,
  ]);
  return session;
}

/** Ends a turn whose process has died, and its running tool calls. The outcome of those calls is unknown. */
async function endSilentTurn(tx: Transaction, organizationId: string, sessionId: string): Promise<void> {
  await tx.execute(
    `WITH ended AS (
       UPDATE chat_turn SET status = 'interrupted', finished_at = muster_now(), error_code = 'interrupted',
              error = 'The process that worked on the turn died.'
       WHERE session_id = $1 AND organization_id = $2 AND status = 'running'
         AND beat_at < muster_now() - interval '${silentAfterSeconds} seconds'
       RETURNING id)
     UPDATE chat_call SET status = 'failed', error_code = 'interrupted',
            error = $3
     WHERE turn_id IN (SELECT id FROM ended) AND organization_id = $2 AND status = 'running' AND decided_at IS NULL`,
    [sessionId, organizationId, diedOver],
  );
}

function insertChatSession(
  tx: Transaction,
  caller: Principal,
  agentId: string,
  { title, autoConfirm, now }: { title: string; autoConfirm: boolean; now: Date },
): Session {
  const id = newId();
  tx.deferStatement(
    `INSERT INTO chat_session
       (id, organization_id, agent_id, owner_kind, owner_id, title, auto_confirm, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)`,
    [id, caller.organizationId, agentId, caller.kind, caller.id, title, autoConfirm, now],
  );
  return { id, autoConfirm };
}

function shortenToTitle(message: string): string {
  const line = message.replace(/\s+/g, ' ').trim();
  return (line.length > 80 ? `${toStorableText(line.slice(0, 79))}…` : line) || '…';
}
