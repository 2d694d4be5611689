import type { OpenAI } from 'openai' with { 'resolution-mode': 'import' };
import type { Outbound, Semaphore } from '@muster/platform';
import { askStructured } from './ask-structured';
import type {
  ModelAnswer,
  ModelCall,
  ModelDelta,
  ModelEndpoint,
  ModelMeter,
  ModelPort,
  ModelUsage,
  ModelUse,
  StructuredAnswer,
  StructuredCall,
} from './model';
import { ModelAborted, ModelFault, noUsage } from './model-fault';
import { createOutboundFetch } from './model-fetch';
import { AnswerAccumulator } from './answer-accumulator';
import { type ModelTry, runWithRetries } from './model-tries';
import { toWireRequest, type WireRequest } from './model-wire';

export interface OpenAiParts {
  endpoint: ModelEndpoint;
  outbound: Outbound;
  turns: Semaphore;
  timeoutMs: number;
  meter: ModelMeter;
}

/** A model with an OpenAI-compatible chat API. */
export class OpenAiModel implements ModelPort {
  private client?: Promise<OpenAI>;

  constructor(private readonly parts: OpenAiParts) {}

  async answerChat(call: ModelCall): Promise<ModelAnswer> {
    const { answer, usage } = await this.completeChat(call);
    return toModelAnswer(answer, usage);
  }

  answerStructured<T>(call: StructuredCall): Promise<StructuredAnswer<T>> {
    return askStructured<T>(call, (messages) => this.completeChat({ messages, signal: call.signal }, call));
  }

  async *streamChat(call: ModelCall): AsyncGenerator<ModelDelta, void, undefined> {
    const request = toWireRequest(this.parts.endpoint, call);
    const bill = this.createBill(request);
    let attempt: ModelTry | undefined;
    try {
      const client = await this.loadClient();
      const opened = await runWithRetries(
        { ...this.parts, signal: call.signal, admit: bill.openCall },
        ({ abortSignal: signal }) =>
          client.chat.completions.create(
            { ...request, stream: true, stream_options: { include_usage: true } },
            { signal },
          ),
      );
      attempt = opened.attempt;
      for await (const chunk of opened.answer) {
        const text = bill.answer.addChunk(chunk);
        if (text !== '') yield { kind: 'text', text };
        // The timer starts again after the reader has taken the part of the answer, so that a slow reader does not
        // count as a slow model.
        attempt.restartTimer();
      }
      attempt.throwIfEnded();
      if (!bill.answer.isWhole)
        throw new ModelFault('cut', 'The answer of the language model ended before it was complete. Try again.');
      const usage = await bill.closeCall('answered');
      yield { kind: 'answer', answer: toModelAnswer(bill.answer, usage) };
    } catch (error) {
      throw await bill.addUsage(classifyStreamError(error, attempt));
    } finally {
      attempt?.endTry();
      // The answer so far is billed, also if the reader stops early.
      await bill.closeCall('cut');
    }
  }

  private async completeChat(
    call: ModelCall,
    format?: Pick<StructuredCall, 'name' | 'schema'>,
  ): Promise<{ answer: AnswerAccumulator; usage: ModelUsage }> {
    const request = toWireRequest(this.parts.endpoint, call, format);
    const bill = this.createBill(request);
    try {
      const client = await this.loadClient();
      const { answer: completion, attempt } = await runWithRetries(
        { ...this.parts, signal: call.signal, admit: bill.openCall },
        ({ abortSignal: signal }) => client.chat.completions.create(request, { signal }),
      );
      try {
        bill.answer.addCompletion(completion);
        // The usage is reported before the turn is released, so that the next call takes this cost into account.
        return { answer: bill.answer, usage: await bill.closeCall('answered') };
      } finally {
        attempt.endTry();
      }
    } catch (error) {
      throw await bill.addUsage(error);
    }
  }

  private createBill(request: WireRequest): Bill {
    return new Bill(request, this.parts.meter);
  }

  /** Loads the client with the first call, because it is large and some deployments have no model. */
  private loadClient(): Promise<OpenAI> {
    const { endpoint, outbound, timeoutMs } = this.parts;
    this.client ??= import('openai').then(
      ({ OpenAI: Client }) =>
        new Client({
          apiKey: endpoint.apiKey,
          baseURL: endpoint.baseUrl.replace(/\/+$/, ''),
          fetch: createOutboundFetch(outbound),
          // Retries and timeouts are handled here; the client's log would contain prompts.
          ...{ maxRetries: 0, timeout: 2 * timeoutMs, logLevel: 'off' },
          ...{ organization: null, project: null },
        }),
    );
    return this.client;
  }
}

/** Reports the usage of one call once. A call that was not opened has no usage. */
class Bill {
  readonly answer = new AnswerAccumulator();
  private began = performance.now();
  private report?: (use: ModelUse) => Promise<number>;
  private usage?: Promise<ModelUsage>;

  constructor(
    private readonly request: WireRequest,
    private readonly meter: ModelMeter,
  ) {}

  /** Called after the wait for a turn, so that the meter knows what other calls have spent until then. */
  readonly openCall = async (): Promise<void> => {
    if (this.report) return;
    this.report = await this.meter.open(this.request.model);
    this.began = performance.now();
  };

  closeCall(outcome: 'answered' | 'cut'): Promise<ModelUsage> {
    this.usage ??= this.reportUsage(outcome);
    return this.usage;
  }

  /** Returns the error with its usage. */
  async addUsage(error: unknown): Promise<unknown> {
    const usage = await this.closeCall('cut');
    if (error instanceof ModelFault || error instanceof ModelAborted) error.usage = usage;
    return error;
  }

  private async reportUsage(outcome: 'answered' | 'cut'): Promise<ModelUsage> {
    if (!this.report) return noUsage;
    const { inputTokens, outputTokens, estimated } = this.answer.countTokens(this.request);
    const isSilent = outcome === 'cut' && inputTokens + outputTokens === 0;
    const costMicros = await this.report({
      ...{ model: this.request.model, inputTokens, outputTokens, estimated },
      outcome: isSilent ? 'failed' : outcome,
      durationMs: Math.round(performance.now() - this.began),
      content: this.answer.content,
    });
    return { calls: 1, inputTokens, outputTokens, costMicros };
  }
}

function toModelAnswer({ content, refusal, toolCalls }: AnswerAccumulator, usage: ModelUsage): ModelAnswer {
  return { content: content === '' ? refusal : content, toolCalls: toolCalls.filter(Boolean), usage };
}

/** Classifies the error of an open stream. Earlier errors are already classified. */
function classifyStreamError(error: unknown, attempt: ModelTry | undefined): unknown {
  if (!attempt || error instanceof ModelFault || error instanceof ModelAborted) return error;
  try {
    attempt.throwIfEnded();
  } catch (ended) {
    return ended;
  }
  return new ModelFault('cut', 'The answer of the language model ended before it was complete. Try again.');
}
