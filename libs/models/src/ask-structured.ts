import { toStorableText } from '@muster/platform';
import { Ajv, type ValidateFunction } from 'ajv';
import type { ModelMessage, ModelPart, ModelUsage, StructuredAnswer, StructuredCall } from './model';
import { ModelFault, sumUsages } from './model-fault';
import type { AnswerAccumulator } from './answer-accumulator';

type Ask = (messages: readonly ModelMessage[]) => Promise<{ answer: AnswerAccumulator; usage: ModelUsage }>;

const maxFaults = 10;
const maxQuotedAnswer = 4000;

/**
 * Requests an answer that fits the schema. If an answer does not fit, requests another one with the errors. Throws if
 * the second answer does not fit either.
 */
export async function askStructured<T>(
  { messages, schema, name }: StructuredCall,
  ask: Ask,
): Promise<StructuredAnswer<T>> {
  const first = await ask(messages);
  const found = parseAndValidate<T>(schema, first.answer);
  if ('value' in found) return { value: found.value, usage: first.usage };
  if (first.answer.refusal)
    throw new ModelFault(
      'refused',
      `The language model refused to answer (${name}). Rephrase the request.`,
      first.usage,
    );
  const second = await ask(appendFaultMessages(messages, first.answer.content, found.faults)).catch(
    (error: unknown) => {
      if (error instanceof ModelFault) error.usage = sumUsages([first.usage, error.usage]);
      throw error;
    },
  );
  const usage = sumUsages([first.usage, second.usage]);
  const corrected = parseAndValidate<T>(schema, second.answer);
  if ('value' in corrected) return { value: corrected.value, usage };
  if (second.answer.refusal)
    throw new ModelFault('refused', `The language model refused to answer (${name}). Rephrase the request.`, usage);
  throw new ModelFault(
    'nonsense',
    `The answer of the language model does not have the required format (${name}): ${corrected.faults[0]!}. Try again.`,
    usage,
  );
}

/** Parses a stored answer; null if it does not fit the schema. */
export function parseStructured<T>(schema: object, content: string): T | null {
  const found = parseAndValidate<T>(schema, { content, refusal: '' });
  return 'value' in found ? found.value : null;
}

/** Appends the errors to the last user message, so that the question stays the last message. */
function appendFaultMessages(messages: readonly ModelMessage[], answer: string, faults: string[]): ModelMessage[] {
  const correction: ModelPart = {
    kind: 'text',
    text:
      `You have answered this already, and the answer did not fit the schema:\n${faults.map((each) => `- ${each}`).join('\n')}\n` +
      `The answer was: ${JSON.stringify(answer.slice(0, maxQuotedAnswer))}\nAnswer again, with JSON that fits the schema.`,
  };
  const at = messages.findLastIndex(({ role }) => role === 'user');
  return messages.map((message, position) => {
    if (position !== at || message.role !== 'user') return message;
    const { content } = message;
    const parts: readonly ModelPart[] = typeof content === 'string' ? [{ kind: 'text', text: content }] : content;
    return { role: 'user', content: [...parts, correction] };
  });
}

/** Matches escapes in JSON for characters that a database cannot store. */
const hasEscapes = /\\u(0000|d[89a-f])/i;

function toStorableValue(_: string, value: unknown): unknown {
  return typeof value === 'string' ? toStorableText(value) : value;
}

const ajv = new Ajv({ allErrors: true, strict: false });

/** Compiled validators by schema object, which all calls of a kind share. */
const validators = new WeakMap<object, ValidateFunction>();

function getSchemaValidator(schema: object): ValidateFunction {
  const cached = validators.get(schema);
  if (cached) return cached;
  const compiled = ajv.compile(schema);
  validators.set(schema, compiled);
  return compiled;
}

function parseAndValidate<T>(
  schema: object,
  { content, refusal }: Pick<AnswerAccumulator, 'content' | 'refusal'>,
): { value: T } | { faults: string[] } {
  if (refusal) return { faults: ['it is a refusal'] };
  let value: unknown;
  try {
    value = JSON.parse(content, hasEscapes.test(content) ? toStorableValue : undefined);
  } catch {
    return { faults: ['it is not valid JSON'] };
  }
  const validate = getSchemaValidator(schema);
  if (validate(value)) return { value: value as T };
  const faults = (validate.errors ?? []).map(({ instancePath, message, params }) => {
    const about = Object.values(params as Record<string, unknown>).filter((each) => typeof each === 'string');
    return `${instancePath || '/'} ${message ?? 'is wrong'}${about.length ? ` (${about.join(', ')})` : ''}`.slice(
      0,
      300,
    );
  });
  return { faults: faults.slice(0, maxFaults) };
}
