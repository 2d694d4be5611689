import { useSyncExternalStore } from 'react';
import { ApiError, isApiError, toApiError } from '../api/api-error';
import { fetchAndReportReachability } from '../api/client';
import type { ChatBody, ChatToolCall } from '../api/generated';

/** A user's message and the model's answer so far. */
export interface ChatTurn {
  sessionId: string | undefined;
  message: string;
  /** Time of the previous message by the service's clock, to find this turn in the history. */
  lastAt: string | undefined;
  text: string;
  calls: ChatToolCall[];
  state: 'running' | 'over' | 'failed';
  error?: ApiError;
}

const turns = new Map<string, ChatTurn>();
const stops = new Map<string, AbortController>();
const watchers = new Set<() => void>();

/**
 * The current turn of an `owner` (the user and the agent). Turns are stored here and not on the page, so that the user
 * can open other pages of the console while the model answers. Closing the console ends the answer; the history
 * contains its text up to then.
 */
export function useChatTurn(owner: string): ChatTurn | undefined {
  return useSyncExternalStore(subscribeToTurns, () => turns.get(owner));
}

/** Sends a message and reads the answer. Resolves when the answer has ended, also after an error. */
export async function startChatTurn(
  owner: string,
  { agentId, lastAt, ...body }: ChatBody & { agentId: string; lastAt: string | undefined },
): Promise<void> {
  stops.get(owner)?.abort();
  const stop = new AbortController();
  stops.set(owner, stop);
  const { sessionId, message } = body;
  storeTurn(owner, { sessionId, message, lastAt, text: '', calls: [], state: 'running' });
  const isCurrentTurn = () => stops.get(owner) === stop;
  try {
    for await (const { event, data } of readTurn(agentId, body, stop.signal)) {
      const turn = turns.get(owner);
      if (!isCurrentTurn() || !turn) return;
      storeTurn(owner, applyEvent(turn, event, data));
    }
    finishTurn(owner, isCurrentTurn(), { state: 'over' });
  } catch (thrown) {
    if (stop.signal.aborted) return finishTurn(owner, isCurrentTurn(), { state: 'over' });
    const error = toApiError(thrown);
    finishTurn(owner, isCurrentTurn(), { state: 'failed', error: isApiError(error) ? error : undefined });
  }
}

/** Stops the answer; the text received so far stays. */
export function stopChatTurn(owner: string): void {
  stops.get(owner)?.abort();
}

/** Removes a turn once the loaded history contains it. */
export function forgetChatTurn(owner: string): void {
  turns.delete(owner);
  notifyWatchers();
}

function finishTurn(owner: string, isLatest: boolean, change: Partial<ChatTurn>): void {
  const turn = turns.get(owner);
  if (isLatest && turn) storeTurn(owner, { ...turn, ...(turn.state === 'failed' ? {} : change) });
}

function applyEvent(turn: ChatTurn, event: string, data: Record<string, unknown>): ChatTurn {
  switch (event) {
    case 'session':
      return { ...turn, sessionId: String(data['sessionId']) };
    case 'token':
      return { ...turn, text: turn.text + String(data['text']) };
    case 'tool_call':
      return { ...turn, calls: [...turn.calls, { ...(data as unknown as ChatToolCall), status: 'running' }] };
    case 'tool_result':
      return { ...turn, calls: turn.calls.map((call) => (call.id === data['id'] ? { ...call, ...data } : call)) };
    case 'error': {
      const error = new ApiError(200, { code: String(data['code']), detail: String(data['detail']) });
      return { ...turn, state: 'failed', error };
    }
    default:
      return turn;
  }
}

interface TurnEvent {
  event: string;
  data: Record<string, unknown>;
}

/** Reads the server-sent events of a POST response, which EventSource cannot request. Does not reconnect. */
async function* readTurn(agentId: string, body: ChatBody, signal: AbortSignal): AsyncGenerator<TurnEvent> {
  const response = await fetchAndReportReachability(`/api/agents/${agentId}/chat/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  });
  if (!response.ok) throw toApiError(await response.json().catch(() => null), response);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop()!;
    for (const block of blocks) {
      const [, event, data] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? [];
      if (event) yield { event, data: JSON.parse(data!) as Record<string, unknown> };
    }
  }
}

function storeTurn(owner: string, turn: ChatTurn): void {
  turns.set(owner, turn);
  notifyWatchers();
}

function notifyWatchers(): void {
  for (const watcher of watchers) watcher();
}

function subscribeToTurns(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => void watchers.delete(watcher);
}
