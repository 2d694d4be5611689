import { hideSecrets } from '@muster/access';
import { Logger } from '@nestjs/common';
import {
  AppError,
  type ChatAnswer,
  type ChatToolCall,
  type ChatUsage,
  type MicroUsd,
  usdOf,
  wireCodeOf,
} from '@muster/contracts';
import {
  ModelAborted,
  type ModelAnswer,
  type ModelCall,
  ModelFault,
  type ModelPort,
  type ModelUsage,
  noUsage,
  sumOfUsages,
} from '@muster/models';
import { storable, toAppError } from '@muster/platform';
import { type ModelParts, openModel } from '@muster/pricing';
import type { ToolParts } from '../tools/tool';
import { toolsFor } from '../tools/tool-table';
import { buildMessages, withoutSecrets } from './build-messages';
import { callTools } from './call-tools';
import { betweenRounds, replyOf } from './read-history';
import { type Following, maxCalls, type Turn } from './turn';
import { endTurn, keepTurn, type TurnEnd } from './turn-rows';

/** The dependencies of a chat: those of its tools and of its model. */
export type ChatParts = ToolParts & ModelParts;

const beatMs = 5000;
const logger = new Logger('Chat');

/**
 * Answers a message: the model writes text, calls tools, gets their results and continues. Text and calls up to an
 * error stay stored. A client that disconnects aborts the model call, but not a tool that is already running.
 */
export async function answerTurn(parts: ChatParts, turn: Turn, following: Following): Promise<ChatAnswer> {
  const { sessionId } = turn;
  const said: string[] = [];
  const usages: ModelUsage[] = [];
  const beat = keepAlive(parts, turn, said);
  const signal = AbortSignal.any([following.left, beat.lost]);
  const toolCalls: ChatToolCall[] = [];
  const end = async (status: TurnEnd['status'], failure: { error?: string; code?: string } = {}) => {
    beat.end();
    const usage = sumOfUsages(usages);
    const of = { organizationId: turn.caller.organizationId, turnId: turn.turnId };
    await endTurn(parts.database, of, { ...usage, costMicros: usage.costMicros as MicroUsd, said, status, ...failure });
    return presentUsage(usage);
  };
  try {
    await talk(parts, turn, { ...following, said, usages, toolCalls, signal });
    const usage = await end('done');
    following.listener?.usage(usage);
    return { sessionId, reply: replyOf(said), toolCalls, usage };
  } catch (error) {
    if (error instanceof ModelFault || error instanceof ModelAborted) usages.push(error.usage);
    if (signal.aborted) {
      await end('left');
      throw new AppError('request_timeout', { detail: 'The answer was aborted: no client waits for it any more.' });
    }
    const known = toAppError(error);
    if (!known) logger.error('a chat turn failed', { err: error, sessionId });
    const failure = known ?? new AppError('internal_error', { detail: 'Something failed on our side; it is logged.' });
    const usage = await end('failed', { error: failure.message, code: wireCodeOf(failure.code) });
    following.listener?.usage(usage);
    throw new AppError(failure.code, { ...failure.options, extra: { ...failure.options.extra, sessionId } });
  } finally {
    beat.end();
  }
}

interface Talk extends Following {
  said: string[];
  usages: ModelUsage[];
  toolCalls: ChatToolCall[];
  signal: AbortSignal;
}

async function talk(parts: ChatParts, turn: Turn, talking: Talk): Promise<void> {
  const { caller, agentId, sessionId } = turn;
  const { organizationId } = caller;
  const { said, usages, toolCalls, signal, mayStay } = talking;
  const model = await openModel(parts, { organizationId, purpose: 'chat', agentId, sessionId });
  const hidden = await hideSecrets(parts, organizationId);
  const messages = await buildMessages(parts, turn, hidden);
  const tools = toolsFor(caller.role).map(({ name, description, parameters }) => ({ name, description, parameters }));
  for (let round = 0; ; round += 1) {
    const isLast = toolCalls.length >= maxCalls;
    const answer = await speak(model, { messages, ...(isLast ? {} : { tools }), signal }, round, talking);
    usages.push(answer.usage);
    if (!talking.listener) say(said, round, answer.content);
    if (isLast || answer.toolCalls.length === 0) break;
    if (!(await mayStay())) throw new AppError('unauthenticated', { detail: 'Sign in again: this access has ended.' });
    const told = await callTools(parts, { turn, round, listener: talking.listener, toolCalls, signal }, answer);
    messages.push(...told.map((message) => withoutSecrets(message, (text) => hidden.text(text))));
  }
  if (replyOf(said) === '' && toolCalls.length === 0) {
    throw new ModelFault('nonsense', 'The model’s answer is empty.');
  }
}

async function speak(model: ModelPort, call: ModelCall, round: number, talking: Talk): Promise<ModelAnswer> {
  const { listener, said } = talking;
  if (!listener) return model.chat(call);
  const isLater = replyOf(said) !== '';
  said[round] = '';
  const tell = (piece: string) => {
    const text = storable(piece);
    if (text === '') return;
    if (said[round] === '' && isLater) listener.token(betweenRounds);
    listener.token(say(said, round, text));
  };
  for await (const delta of model.streamChat(call)) {
    if (delta.kind === 'text') {
      tell(delta.text);
      continue;
    }
    // Text that replaces an answer, such as a refusal, is not streamed in pieces.
    if (said[round] === '') tell(delta.answer.content);
    return delta.answer;
  }
  throw new ModelFault('cut', 'The model’s answer ended too early.', noUsage);
}

/** Maximum number of characters of a reply. */
const longestReply = 200_000;

/** Appends a piece to a round's text and returns it. Throws if the reply becomes too long. */
function say(said: string[], round: number, piece: string): string {
  const room = longestReply - replyOf(said).length - betweenRounds.length;
  const text = storable(piece.length > room ? piece.slice(0, Math.max(room, 0)) : piece);
  said[round] = (said[round] ?? '') + text;
  if (piece.length > room) {
    throw new ModelFault('nonsense', `The model’s answer is longer than ${longestReply} characters.`, noUsage);
  }
  return text;
}

/** Saves the turn's heartbeat and text at an interval. Aborts `lost` if the turn was ended elsewhere. */
function keepAlive({ database }: ChatParts, { caller, turnId }: Turn, said: string[]) {
  const lost = new AbortController();
  const timer = setInterval(() => {
    keepTurn(database, { organizationId: caller.organizationId, turnId }, [...said]).then(
      (isOurs) => isOurs || lost.abort(),
      (error: unknown) => logger.warn('could not save the heartbeat of a chat turn', { err: error }),
    );
  }, beatMs);
  timer.unref();
  return { lost: lost.signal, end: () => clearInterval(timer) };
}

function presentUsage({ inputTokens, outputTokens, costMicros }: ModelUsage): ChatUsage {
  return { inputTokens, outputTokens, costUsd: usdOf(costMicros as MicroUsd) };
}
