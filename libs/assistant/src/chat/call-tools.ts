import { appendTimeline } from '@muster/timeline';
import { describeCaller } from '@muster/access';
import { AppError, type ChatToolCall } from '@muster/contracts';
import type { ModelAnswer, ModelMessage, ModelToolCall } from '@muster/models';
import { newId, toStorableText, toAppError } from '@muster/platform';
import { Logger } from '@nestjs/common';
import { renderPrompt } from '../prompts/render-prompt';
import { limitResultSize, resultLimit } from '../tools/limit-result-size';
import { checkArguments } from '../tools/check-arguments';
import { performTool } from '../tools/perform-tool';
import type { ToolOutcome, ToolParts } from '../tools/tool';
import { requireToolForCaller } from '../tools/tool-table';
import { buildToolMessage } from './build-messages';
import { describeCallFailure } from './approve-or-reject-call';
import { maxCalls, type Turn, type TurnListener } from './turn';
import { endToolCall, insertToolCall } from './turn-rows';

interface CallingIn {
  turn: Turn;
  round: number;
  listener?: TurnListener;
  /** Calls of the whole turn so far, to which the calls of this answer are appended. */
  toolCalls: ChatToolCall[];
  signal: AbortSignal;
}

const confirmMs = 10 * 60_000;
/** Maximum length of a call's arguments in characters. A snippet may have 500,000; JSON writes some of them as two. */
const maxArgumentsLength = 1_100_000;
const logger = new Logger('Chat');

/** Calls the tools that the model's answer requests, in order. Returns the messages for the model. */
export async function callTools(parts: ToolParts, calling: CallingIn, answer: ModelAnswer): Promise<ModelMessage[]> {
  const { toolCalls, signal } = calling;
  const requested = parseToolCalls(answer.toolCalls);
  const results: ModelMessage[] = [];
  for (const [position, requestedCall] of requested.entries()) {
    signal.throwIfAborted();
    if (toolCalls.length >= maxCalls) {
      const content = renderPrompt('call-limit', { tool: requestedCall.name, limit: String(maxCalls) });
      results.push({ role: 'tool', toolCallId: requestedCall.id, content });
      continue;
    }
    const call = await callRequestedTool(parts, calling, requestedCall, position);
    toolCalls.push(call);
    results.push({ role: 'tool', toolCallId: requestedCall.id, content: buildToolMessage(call, call.result) });
  }
  const echoed = requested.map(({ id, name, args }) => ({ id, name, arguments: JSON.stringify(args ?? {}) }));
  return [{ role: 'assistant', content: toStorableText(answer.content), toolCalls: echoed }, ...results];
}

interface RequestedCall {
  /** The model's id of the call, made unique within the answer. */
  id: string;
  name: string;
  /** Null if the model did not write a JSON object. */
  args: Record<string, unknown> | null;
}

function parseToolCalls(calls: readonly ModelToolCall[]): RequestedCall[] {
  const ids = new Set<string>();
  return calls.map((call, position) => {
    const modelId = toStorableText(call.id).slice(0, 100);
    const id = modelId && !ids.has(modelId) ? modelId : `call_${newId()}_${position}`;
    ids.add(id);
    return {
      id,
      name:
        toStorableText(call.name)
          .replace(/[^\w-]/g, '_')
          .slice(0, 64) || 'nothing',
      args: parseToolArguments(call),
    };
  });
}

async function callRequestedTool(
  parts: ToolParts,
  { turn, round, listener, signal }: CallingIn,
  { id: modelKey, name: tool, args }: RequestedCall,
  position: number,
): Promise<ChatToolCall> {
  const { caller, agentId, sessionId, turnId, autoConfirm } = turn;
  const { organizationId } = caller;
  const id = newId();
  const event = { id, tool, arguments: args ?? {} };
  const row = { id, organizationId, sessionId, turnId, round, place: position, modelKey, tool, arguments: args ?? {} };
  listener?.toolCall(event);

  const reportOutcome = (outcome: Omit<ChatToolCall, 'id' | 'tool' | 'arguments'>): ChatToolCall => {
    listener?.toolResult({ id, ...outcome });
    return { ...event, ...outcome };
  };
  const refusal = checkCallAllowed(turn, tool, args);
  if (!refusal && requireToolForCaller(tool, caller).changes && !autoConfirm) {
    const expiresAt = new Date(parts.clock.now().getTime() + confirmMs);
    await insertToolCall(parts.database, { ...row, status: 'needs_confirmation', expiresAt });
    const waits = { confirmationId: id, expiresAt: expiresAt.toISOString() };
    return reportOutcome({ status: 'needs_confirmation', result: waits, ...waits });
  }
  await insertToolCall(parts.database, { ...row, status: 'running' });
  const outcome = refusal
    ? describeCallFailure(refusal)
    : await performTool(parts, {
        ...{ caller, agentId, tool, args, sessionId, callId: id, signal },
        via: 'chat',
      }).catch((error: unknown) => {
        if (!toAppError(error)) logger.error('a tool failed', { err: error, tool, sessionId });
        return describeCallFailure(error);
      });
  await endToolCall(parts.database, { organizationId, id }, outcome);
  if (outcome.status === 'failed') await recordFailedCall(parts, turn, { id, tool, outcome });
  const { status, error, code } = outcome;
  const result = limitResultSize(outcome.result, resultLimit.chat);
  return reportOutcome({ status, result, ...(error ? { error, code } : {}) });
}

/** Returns why a call must not be executed; null if it is allowed. */
function checkCallAllowed({ caller }: Turn, tool: string, args: Record<string, unknown> | null): AppError | null {
  try {
    const { parameters } = requireToolForCaller(tool, caller);
    if (args === null) {
      return new AppError('invalid_payload', { detail: 'The arguments are not a valid JSON object.' });
    }
    checkArguments(parameters, args);
    return null;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

/** Records a failed call on the timeline, because untrusted text may have persuaded the model to make it. */
async function recordFailedCall(
  { database }: ToolParts,
  { caller, agentId, sessionId }: Turn,
  { id, tool, outcome }: { id: string; tool: string; outcome: ToolOutcome },
): Promise<void> {
  const { organizationId } = caller;
  const { error, code } = outcome;
  const message = `${tool} was called by chat for ${describeCaller(caller)} and failed: ${(error ?? '').slice(0, 500)}`;
  const data = { tool, via: 'chat', sessionId, callId: id, code };
  await database.transaction({ organizationId }, (tx) => {
    appendTimeline(tx, { organizationId, agentId }, [
      { kind: 'execution', level: 'warn', source: 'assistant', message, data },
    ]);
    return Promise.resolve();
  });
}

/** Parses the arguments that the model wrote; null if they are not a JSON object that can be stored. */
function parseToolArguments({ arguments: text }: ModelToolCall): Record<string, unknown> | null {
  if (text.trim() === '') return {};
  if (text.length > maxArgumentsLength) return null;
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject && isStorableJson(value) ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/**
 * Whether Postgres can store the value. It stores neither U+0000 nor half a surrogate pair, which JSON can contain and
 * JSON.stringify escapes.
 */
function isStorableJson(value: object): boolean {
  return !/(?<!\\)(\\\\)*\\u(0000|d[89a-f])/i.test(JSON.stringify(value));
}
