import type { Principal } from '@muster/access';
import type { ChatHistory, ChatMessage, ChatToolCall } from '@muster/contracts';
import type { ChatCallEntity, ChatSessionEntity, ChatTurnEntity, Database } from '@muster/database';
import { type Page, buildPage } from '@muster/platform';
import { diedOver, silentAfterSeconds } from './start-turn';
import { chatSessionNotFoundError, getOwnerColumns } from './session-owner';

/** Lists the caller's own sessions about an agent, most recently used first. */
export async function listChatSessions(
  database: Database,
  caller: Principal,
  agentId: string,
  page: Page,
): Promise<ChatHistory> {
  const [organizationId, ownerKind, ownerId] = getOwnerColumns(caller);
  const rows = await database.query<Pick<ChatSessionEntity, 'id' | 'title' | 'updatedAt'>>(
    { organizationId },
    `SELECT id, title, updated_at FROM chat_session
     WHERE organization_id = $1 AND agent_id = $2 AND owner_kind = $3 AND owner_id = $4
       AND ($5::timestamptz IS NULL OR (updated_at, id) < ($5, $6::uuid))
     ORDER BY updated_at DESC, id DESC LIMIT $7`,
    [organizationId, agentId, ownerKind, ownerId, page.after?.[0] ?? null, page.after?.[1] ?? null, page.limit + 1],
    'list_chat_sessions',
  );
  const { items, nextCursor } = buildPage(rows, page, ({ updatedAt, id }) => [updatedAt.toISOString(), id]);
  const sessions = items.map(({ id, title, updatedAt }) => ({
    sessionId: id,
    title,
    updatedAt: updatedAt.toISOString(),
  }));
  return { sessions, nextCursor };
}

/** Returns a page of a session's messages. The first page is the newest; each page starts with its oldest message. */
export async function readChatHistory(
  database: Database,
  caller: Principal,
  agentId: string,
  { sessionId, page, now }: { sessionId: string; page: Page; now: Date },
): Promise<ChatHistory> {
  const [organizationId, ownerKind, ownerId] = getOwnerColumns(caller);
  const [session] = await database.query<Pick<ChatSessionEntity, 'id'>>(
    { organizationId },
    `SELECT id FROM chat_session
     WHERE id = $1 AND organization_id = $2 AND agent_id = $3 AND owner_kind = $4 AND owner_id = $5`,
    [sessionId, organizationId, agentId, ownerKind, ownerId],
    'find_chat_session',
  );
  if (!session) throw chatSessionNotFoundError();
  const turns = await listTurns(database, { organizationId, sessionId }, convertToPageOfTurns(page));
  const halves = turns.flatMap((turn) => [
    { turn, half: answer },
    { turn, half: question },
  ]);
  const isSplit = page.after?.[1] === String(answer);
  const { items, nextCursor } = buildPage(isSplit ? halves.slice(1) : halves, page, ({ turn, half }) => [
    ...[turn.id, String(half)],
  ]);
  const turnIds = new Set(items.map(({ turn }) => turn.id));
  const calls = await readCallsByTurn(database, organizationId, [...turnIds]);
  const messages = items
    .reverse()
    .map(({ turn, half }) => presentTurnMessages(turn, calls.get(turn.id) ?? [], now)[half]!);
  return { sessionId, messages, nextCursor };
}

/** Positions of the two messages of a turn. A page can end between them. */
const [question, answer] = [0, 1];

/** Returns the page of turns that contains the page's messages. */
function convertToPageOfTurns({ limit, after }: Page): Page & { again?: boolean } {
  return { limit: Math.ceil(limit / 2) + 1, after, again: after?.[1] === String(answer) };
}

export type TurnRow = Pick<
  ChatTurnEntity,
  'id' | 'message' | 'said' | 'status' | 'error' | 'errorCode' | 'createdAt' | 'finishedAt'
> & { silent: boolean };

/** Lists a session's turns, newest first. */
export function listTurns(
  database: Database,
  { organizationId, sessionId }: { organizationId: string; sessionId: string },
  { limit, after, again = false }: Page & { again?: boolean },
): Promise<TurnRow[]> {
  return database.query<TurnRow>(
    { organizationId },
    `SELECT id, message, said, status, error, error_code, created_at, finished_at,
            beat_at < muster_now() - interval '${silentAfterSeconds} seconds' AS silent
     FROM chat_turn WHERE session_id = $1 AND organization_id = $2 AND ($3::uuid IS NULL OR id < $3 OR ($4 AND id = $3))
     ORDER BY id DESC LIMIT $5`,
    [sessionId, organizationId, after?.[0] ?? null, again, limit + 1],
    'list_chat_turns',
  );
}

export type CallRow = Pick<
  ChatCallEntity,
  | 'id'
  | 'turnId'
  | 'round'
  | 'modelKey'
  | 'tool'
  | 'arguments'
  | 'status'
  | 'result'
  | 'error'
  | 'errorCode'
  | 'expiresAt'
  | 'decidedAt'
>;

/** Returns the calls of each turn, in the order in which the model made them. */
export async function readCallsByTurn(
  database: Database,
  organizationId: string,
  turnIds: string[],
): Promise<Map<string, CallRow[]>> {
  const rows = await database.query<CallRow>(
    { organizationId },
    `SELECT id, turn_id, round, model_key, tool, arguments, status, result, error, error_code, expires_at,
            decided_at
     FROM chat_call WHERE turn_id = ANY($1) AND organization_id = $2 ORDER BY turn_id, round, place`,
    [turnIds, organizationId],
    'chat_calls',
  );
  const found = new Map<string, CallRow[]>();
  for (const row of rows) found.set(row.turnId, [...(found.get(row.turnId) ?? []), row]);
  return found;
}

/** Time in ms after which an approved call has ended, or the process that executed it has died. */
const maxCallMs = 5 * 60_000;

export function presentCall(row: CallRow, now: Date): ChatToolCall {
  const { id, tool, arguments: args, status, result, error, errorCode, expiresAt, decidedAt } = row;
  if (status === 'needs_confirmation' && expiresAt && expiresAt <= now) {
    const late = { error: 'The call was not confirmed in time.', code: 'confirmation_expired' };
    return { id, tool, arguments: args, status: 'failed', ...late };
  }
  if (status === 'running' && decidedAt && now.getTime() - decidedAt.getTime() > maxCallMs) {
    return { id, tool, arguments: args, status: 'failed', error: diedOver, code: 'interrupted' };
  }
  return {
    id,
    tool,
    arguments: args,
    status,
    ...(result === null ? {} : { result }),
    ...(error === null ? {} : { error }),
    ...(errorCode === null ? {} : { code: errorCode }),
    ...(status === 'needs_confirmation' ? { confirmationId: id, expiresAt: expiresAt!.toISOString() } : {}),
  };
}

function presentTurnMessages(turn: TurnRow, calls: CallRow[], now: Date): ChatMessage[] {
  const { message, said: texts, silent, error, errorCode, createdAt, finishedAt } = turn;
  const isDead = turn.status === 'running' && silent;
  const status = isDead ? 'interrupted' : turn.status;
  const code = isDead ? 'interrupted' : errorCode;
  return [
    { role: 'user', content: message, at: createdAt.toISOString() },
    {
      role: 'assistant',
      content: joinReplyTexts(texts),
      ...(calls.length ? { toolCalls: calls.map((call) => presentCall(call, now)) } : {}),
      at: (finishedAt ?? createdAt).toISOString(),
      ...(status === 'done' ? {} : { status }),
      ...(error === null ? {} : { error }),
      ...(code === null ? {} : { code }),
    },
  ];
}

/** Returns the model's text of one turn, as it was streamed. */
export function joinReplyTexts(texts: string[]): string {
  return texts.filter((text) => text !== '').join(betweenRounds);
}

export const betweenRounds = '\n\n';
