import { AppError, invalidFieldError } from '@muster/contracts';
import type { FormField, QuestionRow } from '@muster/jobs';

type Asked = Pick<QuestionRow, 'kind' | 'choices' | 'fields'>;

const formType = /^\s*application\/x-www-form-urlencoded\s*(;|$)/i;
const number = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;

/**
 * Returns the answer in the body of the page's form, with the type that the question requires. A text that does not fit
 * the type is returned unchanged, and the check of the answer refuses it.
 */
export function parseAnswerForm(question: Asked, contentType: string | undefined, body: Buffer): unknown {
  if (!formType.test(contentType ?? '')) {
    throw new AppError('unsupported_media_type', {
      detail: 'Send the answer as a form (application/x-www-form-urlencoded).',
    });
  }
  const values = readPairs(body.toString('utf8'));
  if (question.kind === 'form') return parseFields(question.fields as unknown as FormField[], values);
  const { answer, ...others } = Object.fromEntries(values);
  const [extra] = Object.keys(others);
  if (extra !== undefined) throw createInvalidFormError('answer', 'The form has only the field “answer”.');
  if (answer === undefined) throw createInvalidFormError('answer', 'The answer is missing.');
  if (question.kind === 'confirm') return parseBoolean(answer);
  if (question.kind === 'choice') return findChoice(question.choices, answer);
  return question.kind === 'code' ? answer.trim() : answer;
}

/** Returns the value of each field. A field that occurs twice is refused, because it is unclear which value applies. */
function readPairs(text: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const [sentName, value] of new URLSearchParams(text)) {
    const name = toPlainNewlines(sentName);
    if (values.has(name)) throw createInvalidFormError('answer', 'A field of the form was sent twice.');
    values.set(name, toPlainNewlines(value));
  }
  return values;
}

function parseFields(fields: FormField[], values: Map<string, string>): Record<string, unknown> {
  const remaining = new Map(values);
  const known = fields.flatMap((field): [string, unknown][] => {
    const name = toPlainNewlines(field.name);
    const value = remaining.get(name);
    remaining.delete(name);
    // Browsers send nothing for a checkbox that is not checked.
    if (field.type === 'boolean') return [[field.name, value === undefined ? false : parseBoolean(value)]];
    return value === undefined ? [] : [[field.name, parseField(field, value)]];
  });
  return Object.fromEntries([...known, ...remaining]);
}

function parseField({ type, choices }: FormField, value: string): unknown {
  if (type === 'choice') return findChoice(choices, value);
  return type === 'number' && number.test(value) ? Number(value) : value;
}

function parseBoolean(text: string): boolean | string {
  return text === 'true' || (text === 'false' ? false : text);
}

/** Returns the choice that a browser sent as text, in which the browser has changed all line breaks. */
function findChoice(choices: string[] | null | undefined, text: string): string {
  return choices?.find((choice) => toPlainNewlines(choice) === text) ?? text;
}

/** Browsers send each line break of a form as CR and LF. */
function toPlainNewlines(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n');
}

function createInvalidFormError(field: string, detail: string): AppError {
  return invalidFieldError(field, detail, detail);
}
