import type { ChatCompletion, ChatCompletionChunk } from 'openai/resources/chat/completions';
import type { ModelToolCall } from './model';
import { ModelFault, malformedAnswerFault } from './model-fault';
import type { WireRequest } from './model-wire';

/** Maximum lengths in characters. A longer answer is an error. */
const maxContentLength = 200_000;
const maxArgumentsLength = 4_000_000;
/** Maximum number of tool calls in an answer. The API also accepts at most this number of tools in a request. */
const maxCalls = 128;
/** Maximum plausible number of tokens. A larger reported number is ignored. */
const maxTokens = 100_000_000;

/** Accumulates an answer. The server may be untrusted, so every part of the answer is checked. */
export class AnswerAccumulator {
  content = '';
  refusal = '';
  readonly toolCalls: ModelToolCall[] = [];
  /** Whether the model has marked the answer as complete. */
  isWhole = false;
  private usage: { inputTokens: number; outputTokens: number } | null = null;
  private argumentsLength = 0;

  /** Adds a complete answer. Throws if the answer does not follow the API or is too long. */
  addCompletion(completion: ChatCompletion | undefined): void {
    if (!isPlainObject(completion)) throw malformedAnswerFault();
    this.addUsage(completion['usage']);
    const choices = requireListOrEmpty(completion['choices']);
    const message = isPlainObject(choices[0]) ? choices[0]['message'] : undefined;
    if (!isPlainObject(message)) throw malformedAnswerFault();
    this.addText(message['content'], message['refusal']);
    for (const [at, call] of requireListOrEmpty(message['tool_calls']).entries()) {
      if (!isPlainObject(call) || !isPlainObject(call['function']) || (call['type'] ?? 'function') !== 'function')
        throw malformedAnswerFault();
      if (typeof call['function']['name'] !== 'string') throw malformedAnswerFault();
      this.addToolCall(at, call);
    }
    this.isWhole = true;
  }

  /** Adds a chunk and returns its text. Throws if the chunk does not follow the API or the answer is too long. */
  addChunk(chunk: ChatCompletionChunk): string {
    if (!isPlainObject(chunk)) throw malformedAnswerFault();
    this.addUsage(chunk['usage']);
    const [choice = {}] = requireListOrEmpty(chunk['choices']);
    if (!isPlainObject(choice)) throw malformedAnswerFault();
    if (chunk['usage'] || choice['finish_reason']) this.isWhole = true;
    const delta = choice['delta'] ?? {};
    if (!isPlainObject(delta)) throw malformedAnswerFault();
    for (const call of requireListOrEmpty(delta['tool_calls'])) {
      if (!isPlainObject(call)) throw malformedAnswerFault();
      this.addToolCall(this.findCallIndex(call), call);
    }
    return this.addText(delta['content'], delta['refusal']);
  }

  /** Returns the tokens that the model reported, or an estimate from the text. Without either, they are zero. */
  countTokens(request: WireRequest): { inputTokens: number; outputTokens: number; estimated: boolean } {
    if (this.usage) return { ...this.usage, estimated: false };
    const text = [this.content, this.refusal, ...this.toolCalls.map(({ name, arguments: args }) => name + args)].join(
      '',
    );
    if (text === '') return { inputTokens: 0, outputTokens: 0, estimated: false };
    return { inputTokens: estimateInputTokens(request), outputTokens: estimateTokens(text), estimated: true };
  }

  private addText(content: unknown, refusal: unknown): string {
    const text = requireTextOrEmpty(content);
    this.content += text;
    this.refusal += requireTextOrEmpty(refusal);
    if (this.content.length + this.refusal.length > maxContentLength) throw answerTooLongError();
    return text;
  }

  /** Adds a fragment of a tool call, or a complete tool call, to the answer. */
  private addToolCall(at: number, { id, function: called }: Record<string, unknown>): void {
    const { name, arguments: args } = isPlainObject(called) ? called : {};
    const call = (this.toolCalls[at] ??= { id: '', name: '', arguments: '' });
    call.id ||= requireTextOrEmpty(id);
    call.name += requireTextOrEmpty(name);
    // Some servers return the arguments as an object instead of a text.
    const text = isPlainObject(args) ? JSON.stringify(args) : requireTextOrEmpty(args);
    call.arguments += text;
    this.argumentsLength += text.length + call.name.length;
    if (this.argumentsLength > maxArgumentsLength) throw answerTooLongError();
  }

  /** Returns the index of a tool call. Some servers leave it out and start each call with its id. */
  private findCallIndex({ index, id }: Record<string, unknown>): number {
    const last = this.toolCalls.length - 1;
    const isNext = last < 0 || (Boolean(id) && id !== this.toolCalls[last]?.id);
    const at = index ?? (isNext ? last + 1 : last);
    if (!Number.isInteger(at) || (at as number) < 0) throw malformedAnswerFault();
    if ((at as number) >= maxCalls) throw answerTooLongError();
    return at as number;
  }

  private addUsage(usage: unknown): void {
    if (!isPlainObject(usage)) return;
    const { prompt_tokens: input, completion_tokens: output } = usage;
    if (!isTokenCount(input) || !isTokenCount(output)) return;
    this.usage = { inputTokens: input, outputTokens: output };
  }
}

function answerTooLongError(): ModelFault {
  return new ModelFault('nonsense', 'The answer of the language model is too long. Try again with a shorter request.');
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function requireListOrEmpty(value: unknown): unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw malformedAnswerFault();
  if (value.length > maxCalls) throw answerTooLongError();
  return value;
}

function requireTextOrEmpty(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw malformedAnswerFault();
  return value;
}

function isTokenCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= maxTokens;
}

const charactersOfToken = 4;
/**
 * Number of tokens that an image counts as if the model reports none: the usual number for an image that is a thousand
 * pixels wide.
 */
const tokensOfImage = 1000;

function estimateTokens(text: string): number {
  return Math.ceil(text.length / charactersOfToken);
}

function estimateInputTokens({ messages, tools }: WireRequest): number {
  let pictures = 0;
  const text = JSON.stringify([messages, tools ?? []], (key, value: unknown) => {
    if (key !== 'image_url') return value;
    pictures += 1;
    return null;
  });
  return estimateTokens(text) + pictures * tokensOfImage;
}
