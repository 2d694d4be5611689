import { type ArgumentMetadata, Injectable } from '@nestjs/common';
import { AppError, Faults, ignoresUnknownFields, invalidFieldError, readFields } from '@muster/contracts';
import { isUuid } from '../../context/ids';

/**
 * Validates input: unknown fields are refused in bodies and ignored in queries. Path parameters that are ids by their
 * name must be UUIDs.
 */
@Injectable()
export class InputPipe {
  transform(input: unknown, { type, metatype, data }: ArgumentMetadata): unknown {
    if (type === 'custom') return input;
    if (type === 'param' && data) return checkPathParameter(input, data);
    if (!metatype || !isClassOfFields(metatype)) return input;
    return type === 'body' ? readBody(metatype, input) : readFieldsOf(metatype, input ?? {}, 'ignore');
  }
}

/** Validates a JSON body. A missing body counts as an empty object, which is valid if no field is required. */
export function readBody<T extends object>(type: Class<T>, input: unknown): T {
  return readFieldsOf(type, input === undefined ? {} : input, ignoresUnknownFields(type) ? 'ignore' : 'refuse');
}

/** Validates a body that did not arrive as JSON, or not all at once. */
export function checkBody<T extends object>(type: new () => T, value: unknown): T {
  return readFieldsOf(type, value, 'refuse');
}

type Class<T extends object = object> = new () => T;

function isClassOfFields(type: unknown): type is Class {
  return ![String, Number, Boolean, Array, Object].includes(type as never);
}

function readFieldsOf<T extends object>(type: Class<T>, value: unknown, unknown: 'refuse' | 'ignore'): T {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new AppError('invalid_payload', { detail: 'The body is not a JSON object. Send one.' });
  }
  const faults = new Faults();
  const instance = readFields(type, value, { faults, path: '', unknown });
  if (faults.isEmpty) return instance;
  const { errors } = faults;
  throw new AppError('invalid_payload', { detail: errors[0]!.message, errors });
}

function checkPathParameter(value: unknown, name: string): unknown {
  const idLike = name === 'id' || name.endsWith('Id');
  if (!idLike) return value;
  if (!isUuid(value)) {
    throw invalidFieldError(name, `${name} must be a UUID`, `The path's ${name} must be a UUID.`);
  }
  // A UUID in capitals is the same id, so each id is converted to lower case.
  return value.toLowerCase();
}
