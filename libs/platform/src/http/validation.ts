import { type ArgumentMetadata, Injectable, ValidationPipe } from '@nestjs/common';
import { AppError, type FieldError, ignoresUnknownFields, quickCheckOf } from '@muster/contracts';
import type { ValidationError } from 'class-validator';
import { isUuid } from '../context/ids';

const strictBody = pipe({ whitelist: true, forbidNonWhitelisted: true });
const lenientBody = pipe({ whitelist: true });

/** Bodies refuse fields they do not know; queries ignore them; path ids must be UUIDs unless they say otherwise. */
@Injectable()
export class InputPipe {
  async transform(given: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    // Who sends no body says nothing, which is enough where nothing has to be said.
    const value = given === undefined && metadata.type === 'body' ? {} : given;
    if (metadata.type === 'custom') return value;
    if (metadata.type === 'param' && metadata.data) return checkParam(value, metadata);
    if (metadata.type === 'param') return lenientBody.transform(value, metadata);
    if (metadata.type === 'query') return lenientBody.transform(value ?? {}, metadata);
    const quick = metadata.metatype && quickCheckOf(metadata.metatype)?.(value);
    if (quick) return quick;
    if (metadata.metatype && (typeof value !== 'object' || value === null || Array.isArray(value))) {
      throw new AppError('invalid_payload', { detail: 'The body must be a JSON object.' });
    }
    const bodyPipe = metadata.metatype && ignoresUnknownFields(metadata.metatype) ? lenientBody : strictBody;
    return bodyPipe.transform(value, metadata);
  }
}

/** What a body of this class must be, for one that did not come as JSON, or not all at once. */
export function checkBody<T extends object>(type: new () => T, value: unknown): Promise<T> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new AppError('invalid_payload', { detail: 'The body must be a JSON object.' });
  }
  return strictBody.transform(value, { type: 'body', metatype: type }) as Promise<T>;
}

function checkParam(value: unknown, { data }: ArgumentMetadata): unknown {
  const idLike = data === 'id' || data?.endsWith('Id');
  if (!idLike) return value;
  if (!isUuid(value)) {
    throw new AppError('invalid_payload', {
      detail: `The path's ${data} must be a UUID.`,
      errors: [{ field: data!, message: `${data} must be a UUID` }],
    });
  }
  // In capitals it is the same id; from here on it has one spelling.
  return value.toLowerCase();
}

function pipe(options: { whitelist: boolean; forbidNonWhitelisted?: boolean }): ValidationPipe {
  return new ValidationPipe({
    ...options,
    transform: true,
    forbidUnknownValues: true,
    validationError: { target: false, value: false },
    exceptionFactory: (errors) => {
      const faults = errors.flatMap((error) => flatten(error));
      const detail = faults[0]?.message ?? 'The request is not valid.';
      return new AppError('invalid_payload', { detail, errors: faults });
    },
  });
}

function flatten(error: ValidationError, parent = ''): FieldError[] {
  const field = parent ? `${parent}.${error.property}` : error.property;
  const own = Object.values(error.constraints ?? {}).map((message) => ({ field, message }));
  return [...own, ...(error.children ?? []).flatMap((child) => flatten(child, field))];
}
