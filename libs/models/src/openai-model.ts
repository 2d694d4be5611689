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
import { fetchThrough } from './model-fetch';
import { HeardAnswer } from './heard-answer';
import { type ModelTry, withTries } from './model-tries';
import { requestOf, type WireRequest } from './model-wire';

export interface OpenAiParts {
  endpoint: ModelEndpoint;
  outbound: Outbound;
  turns: Semaphore;
  timeoutMs: number;
  meter: ModelMeter;
}

/** Speaks the OpenAI-compatible chat API. */
export class OpenAiModel implements ModelPort {
  private client?: Promise<OpenAI>;

  constructor(private readonly parts: OpenAiParts) {}

  async chat(call: ModelCall): Promise<ModelAnswer> {
    const { heard, usage } = await this.complete(call);
    return answerOf(heard, usage);
  }

  structured<T>(call: StructuredCall): Promise<StructuredAnswer<T>> {
    return askStructured<T>(call, (messages) => this.complete({ messages, signal: call.signal }, call));
  }

  async *streamChat(call: ModelCall): AsyncGenerator<ModelDelta, void, undefined> {
    const request = requestOf(this.parts.endpoint, call);
    const bill = this.billOf(request);
    let attempt: ModelTry | undefined;
    try {
      const client = await this.connect();
      const opened = await withTries({ ...this.parts, signal: call.signal, admit: bill.open }, ({ signal }) =>
        client.chat.completions.create(
          { ...request, stream: true, stream_options: { include_usage: true } },
          { signal },
        ),
      );
      attempt = opened.attempt;
      for await (const chunk of opened.answer) {
        const text = bill.heard.takeChunk(chunk);
        if (text !== '') yield { kind: 'text', text };
        // Also when whoever reads took its time.
        attempt.heard();
      }
      attempt.throwIfEnded();
      if (!bill.heard.isWhole) throw new ModelFault('cut', 'The model’s answer broke off.');
      const usage = await bill.settle('answered');
      yield { kind: 'answer', answer: answerOf(bill.heard, usage) };
    } catch (error) {
      throw await bill.blame(faultIn(error, attempt));
    } finally {
      attempt?.end();
      // Who stops reading has not taken back what was said.
      await bill.settle('cut');
    }
  }

  private async complete(
    call: ModelCall,
    format?: Pick<StructuredCall, 'name' | 'schema'>,
  ): Promise<{ heard: HeardAnswer; usage: ModelUsage }> {
    const request = requestOf(this.parts.endpoint, call, format);
    const bill = this.billOf(request);
    try {
      const client = await this.connect();
      const { answer, attempt } = await withTries(
        { ...this.parts, signal: call.signal, admit: bill.open },
        ({ signal }) => client.chat.completions.create(request, { signal }),
      );
      try {
        bill.heard.takeCompletion(answer);
        // With its turn: whoever comes next is to see what this one cost.
        return { heard: bill.heard, usage: await bill.settle('answered') };
      } finally {
        attempt.end();
      }
    } catch (error) {
      throw await bill.blame(error);
    }
  }

  private billOf(request: WireRequest): Bill {
    return new Bill(request, this.parts.meter);
  }

  /** Loaded with the first call: it is large, and not everybody has a model. */
  private connect(): Promise<OpenAI> {
    const { endpoint, outbound, timeoutMs } = this.parts;
    this.client ??= import('openai').then(
      ({ OpenAI: Client }) =>
        new Client({
          apiKey: endpoint.apiKey,
          baseURL: endpoint.baseUrl.replace(/\/+$/, ''),
          fetch: fetchThrough(outbound),
          // Tries and time are ours; its log has prompts in it.
          ...{ maxRetries: 0, timeout: 2 * timeoutMs, logLevel: 'off' },
          ...{ organization: null, project: null },
        }),
    );
    return this.client;
  }
}

/** What one call is to be told to have used, once. Until it is opened there was none. */
class Bill {
  readonly heard = new HeardAnswer();
  private began = performance.now();
  private tell?: (use: ModelUse) => Promise<number>;
  private usage?: Promise<ModelUsage>;

  constructor(
    private readonly request: WireRequest,
    private readonly meter: ModelMeter,
  ) {}

  /** Behind the wait for a turn: what others have spent meanwhile counts. */
  readonly open = async (): Promise<void> => {
    if (this.tell) return;
    this.tell = await this.meter.open(this.request.model);
    this.began = performance.now();
  };

  settle(outcome: 'answered' | 'cut'): Promise<ModelUsage> {
    this.usage ??= this.pay(outcome);
    return this.usage;
  }

  /** The same error, with what it cost. */
  async blame(error: unknown): Promise<unknown> {
    const usage = await this.settle('cut');
    if (error instanceof ModelFault || error instanceof ModelAborted) error.usage = usage;
    return error;
  }

  private async pay(outcome: 'answered' | 'cut'): Promise<ModelUsage> {
    if (!this.tell) return noUsage;
    const { inputTokens, outputTokens, estimated } = this.heard.tokens(this.request);
    const isSilent = outcome === 'cut' && inputTokens + outputTokens === 0;
    const costMicros = await this.tell({
      ...{ model: this.request.model, inputTokens, outputTokens, estimated },
      outcome: isSilent ? 'failed' : outcome,
      durationMs: Math.round(performance.now() - this.began),
      content: this.heard.content,
    });
    return { calls: 1, inputTokens, outputTokens, costMicros };
  }
}

function answerOf({ content, refusal, toolCalls }: HeardAnswer, usage: ModelUsage): ModelAnswer {
  return { content: content === '' ? refusal : content, toolCalls: toolCalls.filter(Boolean), usage };
}

/** What broke a stream that had begun; what came before it began is judged already. */
function faultIn(error: unknown, attempt: ModelTry | undefined): unknown {
  if (!attempt || error instanceof ModelFault || error instanceof ModelAborted) return error;
  try {
    attempt.throwIfEnded();
  } catch (ended) {
    return ended;
  }
  return new ModelFault('cut', 'The model’s answer broke off.');
}
