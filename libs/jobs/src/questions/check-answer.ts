import { AppError, codePattern, invalidFieldError, type QuestionKind } from '@muster/contracts';

/** A field of a form question, as it was validated when the question was asked. */
export interface FormField {
  name: string;
  label: string;
  type: 'text' | 'number' | 'boolean' | 'choice';
  choices?: string[];
  required: boolean;
}

const fieldTypes = ['text', 'number', 'boolean', 'choice'] as const;
const maxTextLength = 10_000;
const maxNameLength = 100;

interface QuestionShape {
  kind: QuestionKind;
  choices?: string[] | null;
  fields?: Record<string, unknown>[] | null;
}

/** Returns the choices or the fields of a question. Throws if they do not match the kind of the question. */
export function checkQuestionShape({ kind, choices, fields }: QuestionShape): {
  choices: string[] | null;
  fields: FormField[] | null;
} {
  if (kind === 'choice' && !choices?.length)
    throw invalidInputError('choices', 'a question of the kind choice requires choices');
  if (kind === 'form' && !fields?.length)
    throw invalidInputError('fields', 'a question of the kind form requires fields');
  const checked = kind === 'form' ? fields!.map(checkFormField) : null;
  const names = new Set(checked?.map(({ name }) => name));
  if (checked && names.size !== checked.length)
    throw invalidInputError('fields', 'the fields of a form must have different names');
  return { choices: kind === 'choice' ? choices! : null, fields: checked };
}

function checkFormField(field: Record<string, unknown>, at: number): FormField {
  const { name, label = name, type = 'text', choices, required = true } = field;
  const path = `fields.${at}`;
  if (!isTextWithin(name, maxNameLength))
    throw invalidInputError(`${path}.name`, 'a field must have a name of at most 100 characters');
  if (!isTextWithin(label, 500)) throw invalidInputError(`${path}.label`, 'a label can have at most 500 characters');
  if (!fieldTypes.includes(type as FormField['type'])) {
    throw invalidInputError(`${path}.type`, `the type of a field must be one of ${fieldTypes.join(', ')}`);
  }
  if (typeof required !== 'boolean') throw invalidInputError(`${path}.required`, 'required must be true or false');
  const own = { name, label, type: type as FormField['type'], required };
  if (type !== 'choice') return own;
  const isList = Array.isArray(choices) && choices.length > 0 && choices.length <= 50;
  if (!isList || !choices.every((choice) => isTextWithin(choice, 500))) {
    throw invalidInputError(`${path}.choices`, 'a field of the type choice must have 1 to 50 choices');
  }
  return { ...own, choices: choices as string[] };
}

/** Returns the answer in the form in which it is stored. Throws if the answer does not match the question. */
export function checkAnswer({ kind, choices, fields }: QuestionShape, answer: unknown): unknown {
  switch (kind) {
    case 'code':
      if (typeof answer !== 'string' || !codePattern.test(answer)) {
        throw invalidInputError('answer', 'a code must have 4 to 10 letters and digits');
      }
      return answer;
    case 'text':
      if (!isTextWithin(answer, maxTextLength))
        throw invalidInputError('answer', 'the answer must be a text of at most 10,000 characters');
      return answer;
    case 'choice':
      if (typeof answer !== 'string' || !choices?.includes(answer))
        throw invalidInputError('answer', 'the answer must be one of the choices');
      return answer;
    case 'confirm':
      if (typeof answer !== 'boolean') throw invalidInputError('answer', 'the answer must be true or false');
      return answer;
    case 'form':
      return checkFormAnswer(fields as unknown as FormField[], answer);
  }
}

function checkFormAnswer(fields: FormField[], answer: unknown): Record<string, unknown> {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) {
    throw invalidInputError('answer', 'the answer must be an object with the form’s fields');
  }
  const entries = new Map(Object.entries(answer));
  const values = fields.flatMap((field): [string, unknown][] => {
    const value: unknown = entries.get(field.name);
    entries.delete(field.name);
    if (value === undefined || value === null || value === '') {
      if (field.required) throw invalidInputError(`answer.${field.name}`, `the field ${field.name} is missing`);
      return [];
    }
    if (!isValidFieldValue(field, value))
      throw invalidInputError(`answer.${field.name}`, `the field ${field.name} must be a valid ${field.type}`);
    return [[field.name, value]];
  });
  const [extra] = entries.keys();
  if (extra !== undefined) throw invalidInputError('answer', 'the form has no such field');
  return Object.fromEntries(values);
}

function isValidFieldValue({ type, choices }: FormField, value: unknown): boolean {
  switch (type) {
    case 'text':
      return isTextWithin(value, maxTextLength);
    case 'number':
      return typeof value === 'number' && Number.isFinite(value);
    case 'boolean':
      return typeof value === 'boolean';
    case 'choice':
      return typeof value === 'string' && choices!.includes(value);
  }
}

function isTextWithin(value: unknown, maxLength: number): value is string {
  return typeof value === 'string' && value.trim().length > 0 && value.length <= maxLength && !value.includes('\0');
}

function invalidInputError(field: string, message: string): AppError {
  return invalidFieldError(field, message, `${message.charAt(0).toUpperCase()}${message.slice(1)}.`);
}
