import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/** A call as received, with values that tests often read from it. */
export interface FakeModelCall {
  number: number;
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: any;
  /** Text of the body, for checks of what it must not contain. */
  text: string;
  stream: boolean;
  /** The text of the last message. */
  lastText: string;
  /** The first text part of the last message of a user. */
  lastUserText: string;
  pictures: string[];
  toolNames: string[];
  /** Name of the JSON schema that the response must match. */
  schemaName: string | null;
  isOver: boolean;
  /** Whether the caller disconnected before the end of the response. */
  wasLeft: boolean;
  /** Time at which the call arrived, as `performance.now()`. */
  firstTokenAt?: number;
}

let calls = 0;

export async function readModelCall(request: IncomingMessage): Promise<FakeModelCall> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  const body: any = text === '' ? {} : JSON.parse(text);
  const messages: any[] = Array.isArray(body.messages) ? body.messages : [];
  const getContentParts = (message: any): any[] =>
    typeof message?.content === 'string' ? [{ type: 'text', text: message.content }] : (message?.content ?? []);
  const getContentTexts = (message: any) =>
    getContentParts(message).flatMap((part) => (part.type === 'text' ? [String(part.text)] : []));
  return {
    ...{ number: (calls += 1), method: request.method ?? '', path: request.url ?? '', headers: request.headers },
    ...{ body, text, stream: body.stream === true, isOver: false, wasLeft: false },
    lastText: getContentTexts(messages.at(-1)).join('\n'),
    lastUserText: getContentTexts(messages.findLast(({ role }) => role === 'user'))[0] ?? '',
    pictures: messages.flatMap((message) =>
      getContentParts(message).flatMap((part) => (part.type === 'image_url' ? [String(part.image_url?.url)] : [])),
    ),
    toolNames: (body.tools ?? []).map((tool: any) => String(tool?.function?.name)),
    schemaName: body.response_format?.json_schema?.name ?? null,
  };
}

interface ModelSetup {
  models: ReadonlySet<string>;
  visionName: string;
  secrets: readonly string[];
}

const fields = ['model', 'messages', 'tools', 'stream', 'stream_options', 'response_format'];
const picture = /^data:image\/(png|jpeg|webp);base64,[A-Za-z0-9+/]+={0,2}$/;

/** Returns a fault for each part of a call that no real API would accept, or that this product must not send. */
export function checkModelCall(call: FakeModelCall, { models, visionName, secrets }: ModelSetup): string[] {
  const { method, path, headers, body, pictures, stream } = call;
  const faults: string[] = [];
  const reportUnless = (holds: unknown, fault: string) => {
    if (!holds) faults.push(fault);
  };
  reportUnless(method === 'POST' && path === '/v1/chat/completions', `${method} ${path} is not a route`);
  reportUnless(/^application\/json/.test(headers['content-type'] ?? ''), `content-type is ${headers['content-type']}`);
  for (const name of Object.keys(body)) reportUnless(fields.includes(name), `the field ${name} is unknown`);
  reportUnless(models.has(body.model), `there is no model ${body.model}`);
  reportUnless(pictures.length === 0 || body.model !== undefined, 'the call has images but names no model');
  if (models.has(visionName) && pictures.length)
    reportUnless(body.model === visionName, 'a call with images does not name the vision model');
  for (const url of pictures) reportUnless(picture.test(url), `an image is not valid: ${url.slice(0, 40)}`);
  reportUnless(
    stream === (body.stream_options !== undefined),
    'stream_options is only allowed, and then required, in a streamed call',
  );
  if (stream) reportUnless(body.stream_options?.include_usage === true, 'a streamed call does not request its usage');
  faults.push(
    ...checkModelMessages(body.messages),
    ...checkToolDefinitions(body.tools),
    ...checkResponseFormat(body.response_format),
  );
  for (const secret of secrets) reportUnless(!call.text.includes(secret), 'the request contains a secret');
  return faults;
}

function checkModelMessages(messages: unknown): string[] {
  if (!Array.isArray(messages) || messages.length === 0) return ['no messages'];
  const faults: string[] = [];
  let wanted = new Set<string>();
  for (const [at, message] of (messages as any[]).entries()) {
    const { role, content, tool_calls: toolCalls, tool_call_id: toolCallId } = message;
    const name = `messages.${at}`;
    if (role === 'tool') {
      if (!wanted.delete(toolCallId)) faults.push(`${name} does not answer a tool call`);
      if (typeof content !== 'string') faults.push(`${name} has no content`);
      continue;
    }
    if (wanted.size) faults.push(`${name} comes before tool calls are answered`);
    wanted = new Set();
    if (!['system', 'user', 'assistant'].includes(role)) faults.push(`${name} has the role ${role}`);
    if (role === 'user' && Array.isArray(content)) {
      for (const part of content) {
        const isPart = part.type === 'text' ? typeof part.text === 'string' : typeof part.image_url?.url === 'string';
        if (!isPart || content.length === 0) faults.push(`${name} has a part that is not valid`);
      }
    } else if (typeof content !== 'string' && !(role === 'assistant' && toolCalls?.length)) {
      faults.push(`${name} has no content`);
    }
    for (const call of toolCalls ?? []) {
      if (
        role !== 'assistant' ||
        call.type !== 'function' ||
        typeof call.function?.arguments !== 'string' ||
        !call.id
      ) {
        faults.push(`${name} has a tool call that is not valid`);
      }
      wanted.add(call.id);
    }
  }
  if (wanted.size) faults.push('a tool call has no answer');
  return faults;
}

function checkToolDefinitions(tools: unknown): string[] {
  if (tools === undefined) return [];
  if (!Array.isArray(tools) || tools.length === 0) return ['tools is not a list'];
  return (tools as any[]).flatMap(({ type, function: tool }, at) => {
    const isTool =
      type === 'function' &&
      /^[\w-]{1,64}$/.test(tool?.name ?? '') &&
      typeof tool.description === 'string' &&
      tool.parameters?.type === 'object';
    return isTool ? [] : [`tools.${at} is not a valid tool`];
  });
}

function checkResponseFormat(format: any): string[] {
  if (format === undefined) return [];
  const { name, strict, schema } = format.json_schema ?? {};
  if (format.type !== 'json_schema' || !/^\w{1,64}$/.test(name ?? '') || strict !== true) {
    return ['response_format is not a strict JSON schema'];
  }
  return checkStrictSchema(schema, 'schema');
}

/** A strict schema requires all of its keys and allows no others. */
function checkStrictSchema(schema: any, at: string): string[] {
  if (typeof schema !== 'object' || schema === null) return [`${at} is not a schema`];
  const faults: string[] = [];
  if (schema.properties) {
    const keys = Object.keys(schema.properties).sort();
    const required = [...(schema.required ?? [])].sort();
    if (JSON.stringify(keys) !== JSON.stringify(required)) faults.push(`${at} does not require all its keys`);
    if (schema.additionalProperties !== false) faults.push(`${at} allows other keys`);
    for (const key of keys) faults.push(...checkStrictSchema(schema.properties[key], `${at}.${key}`));
  }
  if (schema.items) faults.push(...checkStrictSchema(schema.items, `${at}.items`));
  for (const other of schema.anyOf ?? []) faults.push(...checkStrictSchema(other, `${at}.anyOf`));
  return faults;
}
