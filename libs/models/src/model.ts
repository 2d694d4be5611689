/** A language model, as everybody here speaks to it. What it answers is data: somebody's words, never an order. */
export interface ModelPort {
  /** One answer, whole. */
  chat(call: ModelCall): Promise<ModelAnswer>;
  /** One answer as it comes: pieces of its text, and at the end all of it. Who stops reading ends the call. */
  streamChat(call: ModelCall): AsyncIterable<ModelDelta>;
  /** An answer that fits the schema; throws a ModelFault where the model gives none. */
  structured<T>(call: StructuredCall): Promise<StructuredAnswer<T>>;
}

export interface ModelCall {
  messages: readonly ModelMessage[];
  tools?: readonly ModelTool[];
  /** Ends the call and what waits for it; it then throws ModelAborted. */
  signal?: AbortSignal;
}

export interface StructuredCall extends Omit<ModelCall, 'tools'> {
  /** What the answer is called on the wire: letters, digits, _. */
  name: string;
  /** Strict: every object names all its keys as required and has no others. */
  schema: object;
}

export type ModelMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string | readonly ModelPart[] }
  | { role: 'assistant'; content: string; toolCalls?: readonly ModelToolCall[] }
  | { role: 'tool'; toolCallId: string; content: string };

/** A call with a picture goes to the vision model. */
export type ModelPart = { kind: 'text'; text: string } | { kind: 'picture'; dataUrl: string };

export interface ModelTool {
  name: string;
  description: string;
  /** A JSON schema. */
  parameters: object;
}

export interface ModelToolCall {
  id: string;
  name: string;
  /** As the model wrote them: JSON, if it did well. */
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

/** Of all calls that it took. */
export interface ModelUsage {
  /** Over the wire: an answer that does not fit is asked for again. */
  calls: number;
  inputTokens: number;
  outputTokens: number;
  costMicros: number;
}

/** Where a model is, and as whom it is called. */
export interface ModelEndpoint {
  /** With its version path: calls go to `<baseUrl>/chat/completions`. */
  baseUrl: string;
  name: string;
  visionName: string;
  apiKey: string;
}

/** What prices and usages of all models behind this port are found under. */
export const modelProvider = 'openai-compatible';

/** One call over the wire, when it is over. */
export interface ModelUse {
  model: string;
  inputTokens: number;
  outputTokens: number;
  /** Nobody told how many tokens those were: they are guessed from the text that went and came. */
  estimated: boolean;
  outcome: 'answered' | 'cut' | 'failed';
  durationMs: number;
  /** What it said, for whoever keeps with the bill what was paid for. */
  content: string;
}

/** Whose money it is: asked before each call over the wire, and told after it. */
export interface ModelMeter {
  /** What it throws is thrown, and nothing is called. Answers what is told when the call is over. */
  open(model: string): Promise<(use: ModelUse) => Promise<number>>;
}
