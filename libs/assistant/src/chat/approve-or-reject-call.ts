import { audit, type Principal, requireUnsuspended } from '@muster/access';
import { AppError, type ManageAnswer, notFoundError, toWireCode } from '@muster/contracts';
import type { ChatCallEntity } from '@muster/database';
import { toAppError } from '@muster/platform';
import { limitResultSize, resultLimit } from '../tools/limit-result-size';
import { performTool } from '../tools/perform-tool';
import type { ToolOutcome, ToolParts } from '../tools/tool';
import { requireToolForCaller } from '../tools/tool-table';
import { getOwnerColumns } from './session-owner';
import { endToolCall } from './turn-rows';

export interface Decision {
  confirmationId: string;
  approve: boolean;
}

type PendingCall = Pick<
  ChatCallEntity,
  'id' | 'sessionId' | 'tool' | 'arguments' | 'status' | 'expiresAt' | 'decidedAt'
>;

/**
 * Applies the session owner's decision to a tool call that waits for a confirmation. An approved call is executed once,
 * with exactly the arguments that were shown, and only before the confirmation expires. The owner's current rights
 * apply. A call that fails afterwards remains decided.
 */
export async function approveOrRejectCall(
  parts: ToolParts,
  caller: Principal,
  agentId: string,
  { confirmationId, approve }: Decision,
  signal?: AbortSignal,
): Promise<ManageAnswer> {
  const call = await findPendingCall(parts, caller, agentId, confirmationId);
  const { tool, sessionId } = call;
  if (approve && requireToolForCaller(tool, caller).spends) requireUnsuspended(caller);
  await applyCallDecision(parts, caller, agentId, call, approve);
  if (!approve) return { tool, status: 'failed', result: null, error: declined.error, code: declined.code };
  const { organizationId } = caller;
  try {
    const outcome = await performTool(parts, {
      ...{ caller, agentId, tool, args: call.arguments, sessionId, callId: call.id, signal },
      via: 'chat',
    });
    await endToolCall(parts.database, { organizationId, id: call.id }, outcome);
    const { status, error, code } = outcome;
    const result = limitResultSize(outcome.result, resultLimit.manage);
    return { tool, status, result, ...(error ? { error, code } : {}) };
  } catch (error) {
    await endToolCall(parts.database, { organizationId, id: call.id }, describeCallFailure(error));
    throw error;
  }
}

/** Returns the outcome to store for a call that threw. */
export function describeCallFailure(error: unknown): ToolOutcome {
  const appError = toAppError(error);
  if (!appError) {
    return {
      status: 'failed',
      result: {},
      error: 'The service failed because of a defect, and has logged it. Try again.',
      code: 'internal_error',
    };
  }
  return { status: 'failed', result: {}, error: appError.message, code: toWireCode(appError.code) };
}

const declined = { error: 'The call was declined.', code: 'confirmation_declined' };

async function findPendingCall(
  { database }: ToolParts,
  caller: Principal,
  agentId: string,
  id: string,
): Promise<PendingCall> {
  const [organizationId, ownerKind, ownerId] = getOwnerColumns(caller);
  const [call] = await database.query<PendingCall>(
    { organizationId },
    `SELECT c.id, c.session_id, c.tool, c.arguments, c.status, c.expires_at, c.decided_at
     FROM chat_call c JOIN chat_session s ON s.id = c.session_id
     WHERE c.id = $1 AND c.organization_id = $2 AND c.expires_at IS NOT NULL
       AND s.agent_id = $3 AND s.owner_kind = $4 AND s.owner_id = $5`,
    [id, organizationId, agentId, ownerKind, ownerId],
    'find_confirmation',
  );
  if (!call) throw notFoundError('confirmation');
  return call;
}

async function applyCallDecision(
  { database, clock }: ToolParts,
  caller: Principal,
  agentId: string,
  { id, tool, sessionId }: PendingCall,
  approve: boolean,
): Promise<void> {
  const { organizationId } = caller;
  await database.transaction({ organizationId }, async (tx) => {
    const updated = await tx.execute(
      `UPDATE chat_call SET decided_at = $3, status = $4, error = $5, error_code = $6
       WHERE id = $1 AND organization_id = $2 AND status = 'needs_confirmation' AND decided_at IS NULL
         AND expires_at > $3`,
      [
        ...[id, organizationId, clock.now()],
        ...(approve ? ['running', null, null] : ['failed', declined.error, declined.code]),
      ],
      'apply_decision',
    );
    if (updated === 0) {
      // The call is read again in a new statement, because the update may have waited for a concurrent decision.
      const [row] = await tx.query<Pick<ChatCallEntity, 'decidedAt'>>(
        'SELECT decided_at FROM chat_call WHERE id = $1 AND organization_id = $2',
        [id, organizationId],
        'decided_call',
      );
      if (row?.decidedAt) throw new AppError('conflict', { detail: 'The call has already been approved or declined.' });
      throw new AppError('confirmation_expired', {
        detail: 'The confirmation expired after 10 minutes; request the call again.',
      });
    }
    audit(tx, caller, {
      action: approve ? 'assistant.confirm' : 'assistant.decline',
      target: { type: 'agent', id: agentId },
      changes: { tool, sessionId, callId: id },
    });
  });
}
