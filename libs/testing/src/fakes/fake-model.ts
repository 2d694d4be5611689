import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { checkModelCall, type FakeModelCall, readModelCall } from './model-wire';

/** A response of the fake model. */
export interface ModelScript {
  content?: string;
  /** Content that is written as JSON. */
  json?: unknown;
  toolCalls?: { name: string; arguments: object | string; id?: string }[];
  refusal?: string;
  /** Token usage in the response. Null leaves it out; if absent, it is computed from the number of characters. */
  usage?: { inputTokens: number; outputTokens: number } | null;
  /** Milliseconds between the pieces of a stream, or before any other response. */
  slowMs?: number;
  /** Number of pieces of a stream after which the connection is lost. */
  cutAfter?: number;
  /** Status of an error that is sent instead of a response. */
  status?: number;
  headers?: Record<string, string>;
  /** Response body that is sent as it is, with the content type `contentType`, instead of a model's answer. */
  raw?: string;
  contentType?: string;
  /**
   * Whether the server sends nothing until the caller disconnects; in a stream, nothing more after `cutAfter` pieces.
   */
  hang?: true;
}

type Script = string | ModelScript;
export type ModelRule = (call: FakeModelCall) => Script | undefined | Promise<Script | undefined>;

/**
 * A server with the OpenAI-compatible chat API. It returns scripted responses. Requests that no real API would accept
 * are listed in `faults`.
 */
export class FakeModel {
  readonly calls: FakeModelCall[] = [];
  readonly faults: string[] = [];
  /** Values that no request may contain. */
  readonly secrets: string[] = [];
  readonly name = 'fake-text';
  readonly visionName = 'fake-vision';
  readonly key = 'model-key-of-the-fake';
  /** Accepted keys and existing models. Tests may add others. */
  readonly keys = new Set([this.key]);
  readonly models = new Set([this.name, this.visionName]);
  private readonly script: Script[] = [];
  private readonly rules: ModelRule[] = [];
  private server!: Server;

  static async start(): Promise<FakeModel> {
    const fake = new FakeModel();
    fake.server = createServer((request, response) => {
      fake.handleRequest(request, response).catch((error: Error) => {
        fake.faults.push(error.message);
        response.destroy();
      });
    });
    await new Promise<void>((resolve) => fake.server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  /** Variables for the environment of an app. */
  get environment(): Record<string, string> {
    return {
      MODEL_BASE_URL: this.url,
      MODEL_API_KEY: this.key,
      MODEL_NAME: this.name,
      MODEL_VISION_NAME: this.visionName,
    };
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  /** Adds responses that are returned in this order, before any rule applies. */
  addResponses(...next: Script[]): this {
    this.script.push(...next);
    return this;
  }

  /** Adds a rule that returns the response to a call, or undefined. The latest rule is called first. */
  addRule(rule: ModelRule): this {
    this.rules.unshift(rule);
    return this;
  }

  /** Clears the script, the rules and the recorded calls. */
  reset(): void {
    for (const list of [this.calls, this.faults, this.secrets, this.script, this.rules]) list.length = 0;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async handleRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = await readModelCall(request);
    this.calls.push(call);
    response.on('close', () => {
      call.isOver = true;
      call.wasLeft = !response.writableEnded;
    });
    const [, key] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? [];
    if (key === undefined || !this.keys.has(key)) {
      return sendErrorResponse(response, 401, { message: 'Incorrect API key provided', code: 'invalid_api_key' });
    }
    const faults = checkModelCall(call, this);
    this.faults.push(...faults);
    if (faults.length)
      return sendErrorResponse(response, 400, { message: faults.join('; '), code: 'invalid_request_error' });
    const script = await this.chooseScriptedResponse(call);
    await sendScriptedResponse(call, typeof script === 'string' ? { content: script } : script, response);
  }

  private async chooseScriptedResponse(call: FakeModelCall): Promise<Script> {
    const scripted = this.script.shift();
    if (scripted !== undefined) return scripted;
    for (const rule of this.rules) {
      const answer = await rule(call);
      if (answer !== undefined) return answer;
    }
    this.faults.push(`no response is defined for ${call.schemaName ?? call.lastText.slice(0, 200)}`);
    return { status: 500 };
  }
}

function sendErrorResponse(
  response: ServerResponse,
  status: number,
  error: object,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ error }));
}

async function sendScriptedResponse(call: FakeModelCall, script: ModelScript, response: ServerResponse): Promise<void> {
  const { status, headers, raw, contentType = 'application/json', slowMs = 0 } = script;
  if (script.hang && !(call.stream && script.cutAfter !== undefined)) return;
  if (status !== undefined && status >= 300) {
    return sendErrorResponse(
      response,
      status,
      { message: 'no', code: status === 429 ? 'rate_limit_exceeded' : 'server_error' },
      headers,
    );
  }
  if (raw !== undefined) {
    response.writeHead(status ?? 200, { 'content-type': contentType, ...headers });
    return void response.end(raw);
  }
  if (call.stream) return streamModelAnswer(call, script, response);
  await waitIfPositive(slowMs);
  const { text, toolCalls, usage } = composeModelAnswer(call, script);
  const message = {
    role: 'assistant',
    content: toolCalls.length && text === '' ? null : text,
    refusal: script.refusal ?? null,
    ...(toolCalls.length ? { tool_calls: toolCalls } : {}),
  };
  response.writeHead(200, { 'content-type': 'application/json', ...headers });
  response.end(
    JSON.stringify({
      ...{ id: `chatcmpl-${call.number}`, object: 'chat.completion', created: nowInSeconds(), model: call.body.model },
      choices: [{ index: 0, message, finish_reason: toolCalls.length ? 'tool_calls' : 'stop', logprobs: null }],
      ...(usage ? { usage } : {}),
    }),
  );
}

async function streamModelAnswer(call: FakeModelCall, script: ModelScript, response: ServerResponse): Promise<void> {
  const { text, toolCalls, usage } = composeModelAnswer(call, script);
  const { slowMs = 0, cutAfter = Infinity, hang, refusal } = script;
  const deltas: object[] = [{ role: 'assistant', content: '' }];
  for (const piece of text.match(/\s*\S+\s*/g) ?? []) deltas.push({ content: piece });
  if (refusal) deltas.push({ refusal });
  for (const [index, { id, type, function: called }] of toolCalls.entries()) {
    deltas.push({ tool_calls: [{ index, id, type, function: { name: called.name, arguments: '' } }] });
    for (const piece of called.arguments.match(/.{1,12}/gs) ?? []) {
      deltas.push({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
  }
  const formatChunk = (choices: object[], more: object = {}) =>
    `data: ${JSON.stringify({
      ...{
        id: `chatcmpl-${call.number}`,
        object: 'chat.completion.chunk',
        created: nowInSeconds(),
        model: call.body.model,
      },
      choices,
      ...more,
    })}\n\n`;
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  for (const [at, delta] of deltas.entries()) {
    if (response.destroyed) return;
    if (at >= cutAfter) return hang ? undefined : closeAfterWrite(response);
    if (at > 0) await waitIfPositive(slowMs);
    call.firstTokenAt ??= at === 1 ? performance.now() : undefined;
    response.write(formatChunk([{ index: 0, delta, finish_reason: null }]));
  }
  if (cutAfter !== Infinity) return hang ? undefined : closeAfterWrite(response);
  response.write(formatChunk([{ index: 0, delta: {}, finish_reason: toolCalls.length ? 'tool_calls' : 'stop' }]));
  if (usage && call.body.stream_options?.include_usage) response.write(formatChunk([], { usage }));
  response.end('data: [DONE]\n\n');
}

/** Closes the connection after the written data was sent. */
async function closeAfterWrite(response: ServerResponse): Promise<void> {
  await new Promise<void>((resolve) => response.write(':\n\n', () => resolve()));
  response.destroy();
}

function composeModelAnswer(call: FakeModelCall, { content, json, toolCalls = [], refusal, usage }: ModelScript) {
  const text = json === undefined ? (content ?? '') : JSON.stringify(json);
  const calls = toolCalls.map(({ name, arguments: args, id }, at) => ({
    ...{ id: id ?? `call_${call.number}_${at}`, type: 'function' as const },
    function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
  }));
  const written = text + (refusal ?? '') + calls.map((each) => each.function.arguments).join('');
  const input = usage?.inputTokens ?? Math.ceil(JSON.stringify(call.body.messages).length / 4);
  const output = usage?.outputTokens ?? Math.ceil(written.length / 4);
  const counted = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
  return { text, toolCalls: calls, usage: usage === null ? null : counted };
}

function waitIfPositive(ms: number): Promise<void> | undefined {
  return ms > 0 ? new Promise((resolve) => setTimeout(resolve, ms)) : undefined;
}

function nowInSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
