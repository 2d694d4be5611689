import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayUnique,
  IsArray,
  IsBoolean,
  IsEmail,
  IsIn,
  IsInt,
  IsISO8601,
  IsNumber,
  IsObject,
  IsString,
  IsUrl,
  IsUUID,
  Matches,
  Max,
  MaxLength,
  Min,
  MinLength,
  ValidateBy,
  ValidateIf,
  ValidateNested,
} from 'class-validator';

// One decorator says both what a field must be and what the OpenAPI document shows of it, so the two cannot disagree.

interface Common {
  description?: string;
  example?: unknown;
  optional?: boolean;
  nullable?: boolean;
}

export function TextField(options: Common & { min?: number; max?: number; pattern?: RegExp; format?: string } = {}) {
  const { min = 1, max = 200, pattern, format } = options;
  return field(
    options,
    { type: String, minLength: min, maxLength: max, format, ...(pattern ? { pattern: pattern.source } : {}) },
    IsString(),
    MinLength(min),
    MaxLength(max),
    ...(pattern ? [Matches(pattern)] : []),
  );
}

export function EmailField(options: Common = {}) {
  return field(options, { type: String, format: 'email', maxLength: 254 }, IsEmail(), MaxLength(254));
}

export function UrlField(options: Common & { max?: number } = {}) {
  return field(
    options,
    { type: String, format: 'uri', maxLength: options.max ?? 2048 },
    IsUrl({ protocols: ['http', 'https'], require_protocol: true, require_tld: false }),
    MaxLength(options.max ?? 2048),
  );
}

/** Ids are the same in capitals: from here on they are in small letters. */
export function UuidField(options: Common = {}) {
  return applyDecorators(
    Transform(({ value }) => lowerCased(value)),
    field({ example: '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e', ...options }, { type: String, format: 'uuid' }, IsUUID()),
  );
}

/** A list of ids. What is none is the use case's to say. */
export function IdListField(options: Common & { minItems?: number; maxItems?: number; max?: number } = {}) {
  return applyDecorators(
    Transform(({ value }) => (Array.isArray(value) ? value.map(lowerCased) : (value as unknown))),
    TextListField({ max: 36, ...options }),
  );
}

function lowerCased(value: unknown): unknown {
  return typeof value === 'string' ? value.toLowerCase() : value;
}

export function DateTimeField(options: Common = {}) {
  return field(
    { example: '2026-01-31T09:30:00.000Z', ...options },
    { type: String, format: 'date-time' },
    IsISO8601({ strict: true, strictSeparator: true }),
    Matches(/T/, { message: '$property must be an ISO 8601 timestamp with a time' }),
  );
}

export function IntField(options: Common & { min?: number; max?: number } = {}) {
  const { min = 0, max = 2_147_483_647 } = options;
  return field(options, { type: 'integer', minimum: min, maximum: max }, IsInt(), Min(min), Max(max));
}

/** An integer in a query string, where every value is text. */
export function QueryIntField(options: Common & { min?: number; max?: number } = {}) {
  return applyDecorators(
    Type(() => Number),
    IntField(options),
  );
}

export function NumberField(options: Common & { min?: number; max?: number } = {}) {
  const { min = 0, max = 1_000_000_000 } = options;
  return field(
    options,
    { type: Number, minimum: min, maximum: max },
    IsNumber({ allowNaN: false, allowInfinity: false }),
    Min(min),
    Max(max),
  );
}

export function BooleanField(options: Common = {}) {
  return field(options, { type: Boolean }, IsBoolean());
}

export function EnumField(values: readonly string[], options: Common = {}) {
  return field({ example: values[0], ...options }, { type: String, enum: [...values] }, IsIn(values));
}

/** A nested object of a class of its own. */
export function ObjectField(type: () => new () => object, options: Common = {}) {
  return applyDecorators(Type(type), field(options, { type: lazy(type) }, IsObject(), ValidateNested()));
}

/** Names to texts, such as a run's variables. What the names may be is the use case's to say. */
export function TextMapField(options: Common & { maxKeys?: number; max?: number } = {}) {
  const { maxKeys = 200, max = 65_536 } = options;
  return field(
    options,
    { type: Object, additionalProperties: { type: 'string', maxLength: max } },
    IsObject(),
    ValidateBy({
      name: 'isTextMap',
      validator: {
        validate: (value: unknown) =>
          typeof value === 'object' &&
          value !== null &&
          Object.keys(value).length <= maxKeys &&
          Object.values(value).every((text) => typeof text === 'string' && text.length <= max),
        defaultMessage: () =>
          `$property must have at most ${maxKeys} names, each with a text of at most ${max} characters`,
      },
    }),
  );
}

const anyJson = [
  { type: 'object', additionalProperties: true },
  { type: 'array', items: {} },
  { type: 'string' },
  { type: 'number' },
  { type: 'boolean' },
];

/** A value of any JSON type, up to a size. */
export function AnyJsonField(options: Common & { maxBytes?: number } = {}) {
  const { maxBytes = 262_144 } = options;
  return field(
    options,
    { oneOf: anyJson, description: options.description ?? 'Any JSON value.' },
    ValidateBy({
      name: 'isJson',
      validator: {
        validate: (value: unknown) => value !== undefined && Buffer.byteLength(JSON.stringify(value)) <= maxBytes,
        defaultMessage: () => `$property must be a JSON value of at most ${maxBytes} bytes`,
      },
    }),
  );
}

/** A free-form JSON object, such as audited changes. */
export function JsonField(options: Common = {}) {
  return field(options, { type: Object, additionalProperties: true }, IsObject());
}

/** A list of free-form JSON objects. */
export function JsonListField(options: Common & { maxItems?: number } = {}) {
  const { maxItems = 1000 } = options;
  return field(
    options,
    { type: 'array', items: { type: 'object', additionalProperties: true }, maxItems },
    IsArray(),
    ArrayMaxSize(maxItems),
    IsObject({ each: true }),
  );
}

export function ListField(
  type: () => new () => object,
  options: Common & { minItems?: number; maxItems?: number } = {},
) {
  const { minItems = 0, maxItems = 1000 } = options;
  return applyDecorators(
    Type(type),
    field(
      options,
      { type: lazy(type), isArray: true, minItems, maxItems },
      IsArray(),
      ArrayMinSize(minItems),
      ArrayMaxSize(maxItems),
      ValidateNested({ each: true }),
    ),
  );
}

export function TextListField(
  options: Common & { minItems?: number; maxItems?: number; max?: number; values?: readonly string[] } = {},
) {
  const { minItems = 0, maxItems = 100, max = 200, values } = options;
  return field(
    options,
    { type: [String], minItems, maxItems, uniqueItems: true, ...(values ? { enum: [...values] } : {}) },
    IsArray(),
    ArrayMinSize(minItems),
    ArrayMaxSize(maxItems),
    ArrayUnique(),
    ...(values ? [IsIn(values, { each: true })] : [IsString({ each: true }), MaxLength(max, { each: true })]),
  );
}

/** The document's generator knows a lazy type by the function's name. */
function lazy(of: () => new () => object) {
  const { type } = { type: () => of() };
  return type;
}

function field(common: Common, schema: Record<string, unknown>, ...validators: PropertyDecorator[]) {
  const { optional = false, nullable = false, description, example } = common;
  const shown = Object.fromEntries(
    Object.entries({ ...schema, description, example, nullable: nullable || undefined }).filter(
      ([, value]) => value !== undefined,
    ),
  );
  return applyDecorators(
    ApiProperty({ ...shown, required: !optional } as ApiPropertyOptions),
    // Not IsOptional: that lets null pass wherever absence does, and null is a value of its own here.
    ValidateIf((_, value) => !(optional && value === undefined) && !(nullable && value === null)),
    ...validators,
  );
}
