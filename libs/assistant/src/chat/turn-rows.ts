import type { ChatCallEntity, ChatTurnEntity, Database } from '@muster/database';
import { limitResultSize, resultLimit } from '../tools/limit-result-size';
import type { ToolOutcome } from '../tools/tool';

export type TurnEnd = Pick<ChatTurnEntity, 'inputTokens' | 'outputTokens' | 'costMicros'> & {
  /** The model's text of each round. */
  texts: string[];
  status: Exclude<ChatTurnEntity['status'], 'running' | 'interrupted'>;
  error?: string;
  code?: string;
};

/** A call as the model requested it. */
export type NewCall = Pick<
  ChatCallEntity,
  'id' | 'organizationId' | 'sessionId' | 'turnId' | 'round' | 'place' | 'modelKey' | 'tool' | 'arguments' | 'status'
> & { expiresAt?: Date };

/** Records a call before it is executed. */
export async function insertToolCall(database: Database, call: NewCall): Promise<void> {
  const { organizationId } = call;
  await database.query(
    { organizationId },
    `INSERT INTO chat_call
       (id, organization_id, session_id, turn_id, round, place, model_key, tool, arguments, status, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    [
      ...[call.id, organizationId, call.sessionId, call.turnId, call.round, call.place, call.modelKey, call.tool],
      ...[JSON.stringify(call.arguments), call.status, call.expiresAt ?? null],
    ],
    'insert_chat_call',
  );
}

/** Records the outcome of a call. */
export async function endToolCall(
  database: Database,
  { organizationId, id }: { organizationId: string; id: string },
  { status, result, error, code }: ToolOutcome,
): Promise<void> {
  await database.query(
    { organizationId },
    `UPDATE chat_call SET status = $3, result = $4, error = $5, error_code = $6
     WHERE id = $1 AND organization_id = $2 AND status = 'running'`,
    [
      id,
      organizationId,
      status,
      JSON.stringify(limitResultSize(result, resultLimit.chat)),
      error ?? null,
      code ?? null,
    ],
    'end_chat_call',
  );
}

interface TurnRef {
  organizationId: string;
  turnId: string;
}

/** Saves a turn's heartbeat and text so far. Returns false if another process has ended the turn. */
export async function saveTurnTexts(
  database: Database,
  { organizationId, turnId }: TurnRef,
  texts: string[],
): Promise<boolean> {
  const rows = await database.queryUnflushed(
    { organizationId },
    `UPDATE chat_turn SET beat_at = muster_now(), said = $3
     WHERE id = $1 AND organization_id = $2 AND status = 'running' RETURNING id`,
    [turnId, organizationId, texts],
    'save_chat_turn',
  );
  return rows.length > 0;
}

export async function endTurn(database: Database, { organizationId, turnId }: TurnRef, end: TurnEnd): Promise<void> {
  const { status, texts, inputTokens, outputTokens, costMicros, error, code } = end;
  await database.query(
    { organizationId },
    `WITH ended AS (
       UPDATE chat_turn SET status = $3, said = $4, input_tokens = $5, output_tokens = $6, cost_micros = $7, error = $8,
              error_code = $9, finished_at = muster_now()
       WHERE id = $1 AND organization_id = $2 AND status = 'running'
       RETURNING session_id)
     UPDATE chat_session SET updated_at = date_trunc('milliseconds', muster_now())
     WHERE id = (SELECT session_id FROM ended) AND organization_id = $2`,
    [turnId, organizationId, status, texts, inputTokens, outputTokens, costMicros, error ?? null, code ?? null],
    'end_chat_turn',
  );
}
