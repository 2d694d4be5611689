import type { Hidden, Principal } from '@muster/access';
import { findAgent } from '@muster/machines';
import type { ModelMessage } from '@muster/models';
import { renderPrompt } from '../prompts/render-prompt';
import type { ToolParts } from '../tools/tool';
import { readCallsByTurn, type CallRow, listTurns, presentCall, type TurnRow } from './read-chat-history';

/**
 * Maximum numbers of characters that a model is sent: of all earlier turns together, and of each earlier tool result.
 */
const historyChars = 40_000;
const earlierResultChars = 1000;
const maxTurnsRead = 40;

export interface ChatRef {
  caller: Principal;
  agentId: string;
  sessionId: string;
  turnId: string;
  message: string;
}

/** Builds the messages of a new turn: the system prompt, the earlier turns that fit, and the user's message. */
export async function buildMessages(parts: ToolParts, chatRef: ChatRef, { text }: Hidden): Promise<ModelMessage[]> {
  const { caller, agentId, sessionId, turnId, message } = chatRef;
  const { organizationId } = caller;
  const { name, status } = await findAgent(parts.database, organizationId, agentId);
  const now = parts.clock.now();
  const system = renderPrompt('chat-system', {
    machine: JSON.stringify({ id: agentId, name, status }),
    now: now.toISOString(),
    role: caller.role,
  });
  const page = { limit: maxTurnsRead, after: null };
  const turns = (await listTurns(parts.database, { organizationId, sessionId }, page)).filter(
    ({ id }) => id !== turnId,
  );
  const calls = await readCallsByTurn(
    parts.database,
    organizationId,
    turns.map(({ id }) => id),
  );
  const earlier: ModelMessage[][] = [];
  let room = historyChars;
  for (const turn of turns) {
    const messages = buildMessagesOfTurn(turn, calls.get(turn.id) ?? [], now);
    room -= JSON.stringify(messages).length;
    if (room < 0) break;
    earlier.unshift(messages);
  }
  const isCut = earlier.length < turns.length || turns.length >= maxTurnsRead;
  return [
    { role: 'system', content: isCut ? `${system}\n\n${renderPrompt('left-out')}` : system },
    ...earlier.flat(),
    { role: 'user', content: message },
  ].map((each) => redactMessage(each as ModelMessage, text));
}

/** Returns a tool's result as text for the model, marked as untrusted. */
export function buildToolMessage(
  call: { id: string; tool: string; status: string; error?: string; confirmationId?: string },
  result: unknown,
): string {
  const { id, tool, status, error, confirmationId } = call;
  if (confirmationId) return renderPrompt('needs-confirmation', { tool, id: confirmationId });
  const output = JSON.stringify({ ...(error ? { error } : {}), result: result ?? null });
  return renderPrompt('tool-output', { tool, status, mark: id.slice(-12), output });
}

export function redactMessage(message: ModelMessage, text: (value: string) => string): ModelMessage {
  const { content } = message;
  const hidden = typeof content === 'string' ? { ...message, content: text(content) } : message;
  if (hidden.role !== 'assistant' || !hidden.toolCalls) return hidden as ModelMessage;
  const toolCalls = hidden.toolCalls.map((call) => ({ ...call, arguments: text(call.arguments) }));
  return { ...hidden, toolCalls };
}

function buildMessagesOfTurn({ message, said: texts, status }: TurnRow, calls: CallRow[], now: Date): ModelMessage[] {
  const rounds = Math.max(texts.length, ...calls.map(({ round }) => round + 1), 0);
  const answers = Array.from({ length: rounds }, (_, round) =>
    buildMessagesOfRound(
      texts[round] ?? '',
      calls.filter((call) => call.round === round),
      now,
    ),
  );
  const end: ModelMessage[] = status === 'done' ? [] : [{ role: 'assistant', content: renderPrompt('broken-off') }];
  return [{ role: 'user', content: message }, ...answers.flat(), ...end];
}

function buildMessagesOfRound(content: string, calls: CallRow[], now: Date): ModelMessage[] {
  if (calls.length === 0) return content === '' ? [] : [{ role: 'assistant', content }];
  const toolCalls = calls.map(({ modelKey, tool, arguments: args }) => ({
    id: modelKey,
    name: tool,
    arguments: JSON.stringify(args),
  }));
  return [
    { role: 'assistant', content, toolCalls },
    ...calls.map((row): ModelMessage => {
      const presented = presentCall(row, now);
      const result = JSON.stringify(presented.result ?? null);
      const cut = result.length > earlierResultChars ? `${result.slice(0, earlierResultChars)}…` : presented.result;
      return { role: 'tool', toolCallId: row.modelKey, content: buildToolMessage(presented, cut) };
    }),
  ];
}
