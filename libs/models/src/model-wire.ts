import type {
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions';
import type { ModelCall, ModelEndpoint, ModelMessage, StructuredCall } from './model';

export type WireRequest = ChatCompletionCreateParamsNonStreaming;

/** Converts a call to a request of the API. */
export function toWireRequest(
  { name, visionName }: ModelEndpoint,
  { messages, tools = [] }: ModelCall,
  format?: Pick<StructuredCall, 'name' | 'schema'>,
): WireRequest {
  return {
    model: messages.some(messageHasPicture) ? visionName : name,
    messages: messages.map(toWireMessage),
    ...(tools.length
      ? {
          tools: tools.map(({ name: tool, description, parameters }) => ({
            type: 'function' as const,
            function: { name: tool, description, parameters: parameters as Record<string, unknown> },
          })),
        }
      : {}),
    ...(format
      ? {
          response_format: {
            type: 'json_schema' as const,
            json_schema: { name: format.name, strict: true, schema: format.schema as Record<string, unknown> },
          },
        }
      : {}),
  };
}

function messageHasPicture(message: ModelMessage): boolean {
  return (
    message.role === 'user' && Array.isArray(message.content) && message.content.some((part) => isPicturePart(part))
  );
}

function isPicturePart({ kind }: { kind: 'text' | 'picture' }): boolean {
  return kind === 'picture';
}

function toWireMessage(message: ModelMessage): ChatCompletionMessageParam {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.content };
    case 'tool':
      return { role: 'tool', tool_call_id: message.toolCallId, content: message.content };
    case 'assistant': {
      const { content, toolCalls = [] } = message;
      if (toolCalls.length === 0) return { role: 'assistant', content };
      const calls = toolCalls.map(({ id, name, arguments: text }) => ({
        ...{ id, type: 'function' as const, function: { name, arguments: text } },
      }));
      return { role: 'assistant', content: content === '' ? null : content, tool_calls: calls };
    }
    case 'user': {
      const { content } = message;
      if (typeof content === 'string') return { role: 'user', content };
      return {
        role: 'user',
        content: content.map((part) =>
          part.kind === 'text'
            ? { type: 'text' as const, text: part.text }
            : { type: 'image_url' as const, image_url: { url: part.dataUrl } },
        ),
      };
    }
  }
}
