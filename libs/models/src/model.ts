/** Interface of a language model. Its answers are untrusted data and never instructions to the service. */
export interface ModelPort {
  /** Returns one complete answer. */
  answerChat(call: ModelCall): Promise<ModelAnswer>;
  /** Streams one answer: parts of its text, then the complete answer. The call ends if the caller stops reading. */
  streamChat(call: ModelCall): AsyncIterable<ModelDelta>;
  /** Returns an answer that fits the schema. Throws a ModelFault if the model returns none. */
  answerStructured<T>(call: StructuredCall): Promise<StructuredAnswer<T>>;
}

export interface ModelCall {
  messages: readonly ModelMessage[];
  tools?: readonly ModelTool[];
  /** Aborts the call, also while it waits for its turn. The call then throws ModelAborted. */
  signal?: AbortSignal;
}

export interface StructuredCall extends Omit<ModelCall, 'tools'> {
  /** Name of the schema in the request. It may contain only letters, digits and underscores. */
  name: string;
  /** Strict JSON schema: every object lists all its keys as required and allows no others. */
  schema: object;
}

export type ModelMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string | readonly ModelPart[] }
  | { role: 'assistant'; content: string; toolCalls?: readonly ModelToolCall[] }
  | { role: 'tool'; toolCallId: string; content: string };

/** A part of a message. A call whose messages contain an image is sent to the vision model. */
export type ModelPart = { kind: 'text'; text: string } | { kind: 'picture'; dataUrl: string };

export interface ModelTool {
  name: string;
  description: string;
  /** JSON schema of the arguments. */
  parameters: object;
}

export interface ModelToolCall {
  id: string;
  name: string;
  /** Text of the model, which should be JSON but is not checked. */
  arguments: string;
}

export interface ModelAnswer {
  content: string;
  toolCalls: ModelToolCall[];
  usage: ModelUsage;
}

export type ModelDelta = { kind: 'text'; text: string } | { kind: 'answer'; answer: ModelAnswer };

export interface StructuredAnswer<T> {
  value: T;
  usage: ModelUsage;
}

/** Usage of all calls over the wire for one answer. */
export interface ModelUsage {
  /** Number of calls over the wire: an answer that does not fit the schema is requested again. */
  calls: number;
  inputTokens: number;
  outputTokens: number;
  costMicros: number;
}

/** Address, names and API key of a model. */
export interface ModelEndpoint {
  /** URL with the version path: calls go to `<baseUrl>/chat/completions`. */
  baseUrl: string;
  name: string;
  visionName: string;
  apiKey: string;
}

/** Name of the provider in the prices and usages of all models with this interface. */
export const modelProvider = 'openai-compatible';

/** Usage of one call over the wire, known at its end. */
export interface ModelUse {
  model: string;
  inputTokens: number;
  outputTokens: number;
  /** Whether the tokens are estimated from the request and the answer, because the model did not report them. */
  estimated: boolean;
  outcome: 'answered' | 'cut' | 'failed';
  durationMs: number;
  /** Text of the answer, for a meter that stores it with the cost. */
  content: string;
}

/** Accounts for the calls to a model. It is called before and after each call over the wire. */
export interface ModelMeter {
  /** Admits a call, or throws to prevent it. The returned function receives the call's usage and returns its cost. */
  open(model: string): Promise<(use: ModelUse) => Promise<number>>;
}
