import { loadSecretRedactor } from '@muster/access';
import { Logger } from '@nestjs/common';
import {
  AppError,
  type ChatAnswer,
  type ChatToolCall,
  type ChatUsage,
  type MicroUsd,
  microsToUsd,
  toWireCode,
} from '@muster/contracts';
import {
  ModelAborted,
  type ModelAnswer,
  type ModelCall,
  ModelFault,
  type ModelPort,
  type ModelUsage,
  noUsage,
  sumUsages,
} from '@muster/models';
import { runWhileRenewingLease, toStorableText, toAppError } from '@muster/platform';
import { type ModelParts, openModelForCaller } from '@muster/pricing';
import type { ToolParts } from '../tools/tool';
import { listToolsForCaller } from '../tools/tool-table';
import { buildMessages, redactMessage } from './build-messages';
import { callTools } from './call-tools';
import { betweenRounds, joinReplyTexts } from './read-chat-history';
import { type Following, maxCalls, type Turn } from './turn';
import { endTurn, saveTurnTexts, type TurnEnd } from './turn-rows';

/** The dependencies of a chat: those of its tools and of its model. */
export type ChatParts = ToolParts & ModelParts;

const beatMs = 5000;
const logger = new Logger('Chat');

/**
 * Answers a message: the model writes text, calls tools, gets their results and continues. Text and calls up to an
 * error stay stored. A client that disconnects aborts the model call, but not a tool that is already running.
 */
export async function answerChatTurn(parts: ChatParts, turn: Turn, following: Following): Promise<ChatAnswer> {
  const { sessionId } = turn;
  const texts: string[] = [];
  const usages: ModelUsage[] = [];
  let signal = following.left;
  const toolCalls: ChatToolCall[] = [];
  const endWithStatus = async (status: TurnEnd['status'], failure: { error?: string; code?: string } = {}) => {
    const usage = sumUsages(usages);
    const turnRef = { organizationId: turn.caller.organizationId, turnId: turn.turnId };
    await endTurn(parts.database, turnRef, {
      ...usage,
      costMicros: usage.costMicros as MicroUsd,
      texts,
      status,
      ...failure,
    });
    return presentModelUsage(usage);
  };
  try {
    await runWhileRenewingLease(
      () => saveTurnHeartbeat(parts, turn, texts),
      (lost) => {
        signal = AbortSignal.any([following.left, lost]);
        return runModelConversation(parts, turn, { ...following, texts, usages, toolCalls, signal });
      },
      beatMs,
    );
    const usage = await endWithStatus('done');
    following.listener?.usage(usage);
    return { sessionId, reply: joinReplyTexts(texts), toolCalls, usage };
  } catch (error) {
    if (error instanceof ModelFault || error instanceof ModelAborted) usages.push(error.usage);
    if (signal.aborted) {
      await endWithStatus('left');
      throw new AppError('request_timeout', {
        detail: 'The answer was aborted because the client disconnected. Send the message again.',
      });
    }
    const appError = toAppError(error);
    if (!appError) logger.error('a chat turn failed', { err: error, sessionId });
    const failure =
      appError ??
      new AppError('internal_error', {
        detail:
          'The service failed because of a defect, and has logged it. Try again; if it fails again, report the ' +
          'request id to the operator.',
      });
    const usage = await endWithStatus('failed', { error: failure.message, code: toWireCode(failure.code) });
    following.listener?.usage(usage);
    throw new AppError(failure.code, { ...failure.options, extra: { ...failure.options.extra, sessionId } });
  }
}

interface Conversation extends Following {
  texts: string[];
  usages: ModelUsage[];
  toolCalls: ChatToolCall[];
  signal: AbortSignal;
}

async function runModelConversation(parts: ChatParts, turn: Turn, conversation: Conversation): Promise<void> {
  const { caller, agentId, sessionId } = turn;
  const { organizationId } = caller;
  const { texts, usages, toolCalls, signal, mayStay } = conversation;
  const model = await openModelForCaller(parts, { organizationId, purpose: 'chat', agentId, sessionId });
  const hidden = await loadSecretRedactor(parts, { organizationId, agentId });
  const messages = await buildMessages(parts, turn, hidden);
  const tools = listToolsForCaller(caller).map(({ name, description, parameters }) => ({
    name,
    description,
    parameters,
  }));
  for (let round = 0; ; round += 1) {
    const isLast = toolCalls.length >= maxCalls;
    const answer = await requestModelAnswer(
      model,
      { messages, ...(isLast ? {} : { tools }), signal },
      round,
      conversation,
    );
    usages.push(answer.usage);
    if (!conversation.listener) appendTextOfRound(texts, round, answer.content);
    if (isLast || answer.toolCalls.length === 0) break;
    if (!(await mayStay())) throw new AppError('unauthenticated', { detail: 'Your access has ended. Sign in again.' });
    const results = await callTools(parts, { turn, round, listener: conversation.listener, toolCalls, signal }, answer);
    messages.push(...results.map((message) => redactMessage(message, (text) => hidden.text(text))));
  }
  if (joinReplyTexts(texts) === '' && toolCalls.length === 0) {
    throw new ModelFault('nonsense', 'The answer of the language model is empty. Try again.');
  }
}

async function requestModelAnswer(
  model: ModelPort,
  call: ModelCall,
  round: number,
  conversation: Conversation,
): Promise<ModelAnswer> {
  const { listener, texts } = conversation;
  if (!listener) return model.answerChat(call);
  const isLater = joinReplyTexts(texts) !== '';
  texts[round] = '';
  const sendText = (piece: string) => {
    const text = toStorableText(piece);
    if (text === '') return;
    if (texts[round] === '' && isLater) listener.token(betweenRounds);
    listener.token(appendTextOfRound(texts, round, text));
  };
  for await (const delta of model.streamChat(call)) {
    if (delta.kind === 'text') {
      sendText(delta.text);
      continue;
    }
    // Text that replaces an answer, such as a refusal, is not streamed in pieces.
    if (texts[round] === '') sendText(delta.answer.content);
    return delta.answer;
  }
  throw new ModelFault('cut', 'The answer of the language model ended before it was complete. Try again.', noUsage);
}

/** Maximum number of characters of a reply. */
const maxReplyLength = 200_000;

/** Appends a piece to a round's text and returns it. Throws if the reply becomes too long. */
function appendTextOfRound(texts: string[], round: number, piece: string): string {
  const room = maxReplyLength - joinReplyTexts(texts).length - betweenRounds.length;
  const text = toStorableText(piece.length > room ? piece.slice(0, Math.max(room, 0)) : piece);
  texts[round] = (texts[round] ?? '') + text;
  if (piece.length > room) {
    throw new ModelFault('nonsense', `The model’s answer is longer than ${maxReplyLength} characters.`, noUsage);
  }
  return text;
}

/** Saves the turn's heartbeat and text so far. Returns false if another process has ended the turn. */
function saveTurnHeartbeat(
  { database }: ChatParts,
  { caller, turnId }: Turn,
  texts: string[],
): Promise<boolean | void> {
  return saveTurnTexts(database, { organizationId: caller.organizationId, turnId }, [...texts]).catch(
    (error: unknown) => logger.warn('could not save the heartbeat of a chat turn', { err: error }),
  );
}

function presentModelUsage({ inputTokens, outputTokens, costMicros }: ModelUsage): ChatUsage {
  return { inputTokens, outputTokens, costUsd: microsToUsd(costMicros as MicroUsd) };
}
