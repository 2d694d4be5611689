import { AppError, type FieldError } from '@muster/contracts';
import { isUuid } from '@muster/platform';

/** The JSON schema of one argument. */
export type ArgumentSchema = { description: string } & (
  | { type: 'string'; format?: 'uuid'; minLength?: number; maxLength: number }
  | { type: 'object'; additionalProperties: { type: 'string' }; maxProperties: number }
);

/** The JSON schema of a tool's arguments. */
export interface ArgumentsSchema {
  type: 'object';
  properties: Record<string, ArgumentSchema>;
  required: string[];
  additionalProperties: false;
}

export function buildArgumentsSchema(
  properties: Record<string, ArgumentSchema>,
  { optional = [] }: { optional?: string[] } = {},
): ArgumentsSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required, additionalProperties: false };
}

const maxErrors = 20;

/** Returns the checked arguments of a tool. Throws invalid_payload with all errors. */
export function checkArguments(schema: ArgumentsSchema, input: unknown): Record<string, unknown> {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw invalidArgumentsError([{ field: 'arguments', message: 'arguments must be an object' }]);
  }
  const values = input as Record<string, unknown>;
  const errors: FieldError[] = [];
  for (const name in values) {
    if (errors.length >= maxErrors) break;
    if (!Object.hasOwn(schema.properties, name)) {
      errors.push({ field: `arguments.${name.slice(0, 100)}`, message: `there is no argument ${name.slice(0, 100)}` });
    }
  }
  const checked: Record<string, unknown> = {};
  for (const [name, rule] of Object.entries(schema.properties)) {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    const fault = value === undefined ? checkRequiredArgument(schema, name) : checkArgument(rule, value);
    if (fault) errors.push({ field: `arguments.${name}`, message: `${name} ${fault}` });
    else if (value !== undefined) checked[name] = isUuidRule(rule) ? (value as string).toLowerCase() : value;
  }
  if (errors.length) throw invalidArgumentsError(errors);
  return checked;
}

function checkRequiredArgument({ required }: ArgumentsSchema, name: string): string | undefined {
  return required.includes(name) ? 'is required' : undefined;
}

function checkArgument(rule: ArgumentSchema, value: unknown): string | undefined {
  if (rule.type === 'object') return checkTextMap(rule.maxProperties, value);
  if (typeof value !== 'string') return 'must be a text';
  const { minLength = 0, maxLength } = rule;
  if (value.includes('\0')) return 'must not contain U+0000';
  if (value.length < minLength || value.length > maxLength) return `must have ${minLength} to ${maxLength} characters`;
  return isUuidRule(rule) && !isUuid(value) ? 'must be a UUID' : undefined;
}

function checkTextMap(maxNames: number, value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'must be an object';
  const entries = Object.entries(value);
  if (entries.length > maxNames) return `must have at most ${maxNames} names`;
  const isTextEntry = ([name, each]: [string, unknown]) =>
    typeof each === 'string' && each.length <= maxValueLength && !`${name}${each}`.includes('\0');
  return entries.every(isTextEntry) ? undefined : `must map names to texts of at most ${maxValueLength} characters`;
}

const maxValueLength = 65_536;

function isUuidRule(rule: ArgumentSchema): boolean {
  return rule.type === 'string' && rule.format === 'uuid';
}

function invalidArgumentsError(errors: FieldError[]): AppError {
  return new AppError('invalid_payload', { detail: `${errors.map(({ message }) => message).join('; ')}.`, errors });
}
