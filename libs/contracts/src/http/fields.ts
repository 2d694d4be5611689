import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import {
  makeAnyJsonCheck,
  checkBoolean,
  checkDateTime,
  checkDay,
  checkDayOrTime,
  checkEmail,
  makeExactUsdCheck,
  makeIdListCheck,
  makeIntegerCheck,
  makeIntegerListCheck,
  makeIntegerTextCheck,
  makeListOfObjectsCheck,
  makeNestedObjectCheck,
  makeNumberCheck,
  checkObject,
  makeObjectListCheck,
  makeOneOfCheck,
  makeTextCheck,
  makeTextMapCheck,
  makeTextListCheck,
  makeUrlCheck,
  checkUuid,
} from './field-checks';
import { type FieldCheck, declareFieldRule } from './field-rules';

// One decorator declares both the check of a field and its schema in the OpenAPI document, so the two cannot disagree.

interface Common {
  description?: string;
  example?: unknown;
  optional?: boolean;
  nullable?: boolean;
}

/** A text. With `visible`, which names use, it must contain a visible character. */
export function TextField(
  options: Common & { min?: number; max?: number; pattern?: RegExp; format?: string; visible?: boolean } = {},
) {
  const { min = 1, max = 200, pattern, format, visible } = options;
  return declareApiField(
    options,
    { type: String, minLength: min, maxLength: max, format, ...(pattern ? { pattern: pattern.source } : {}) },
    makeTextCheck({ min, max, pattern, visible }),
  );
}

export function EmailField(options: Common = {}) {
  return declareApiField(options, { type: String, format: 'email', maxLength: 254 }, checkEmail);
}

export function UrlField(options: Common & { max?: number } = {}) {
  return declareApiField(
    options,
    { type: String, format: 'uri', maxLength: options.max ?? 2048 },
    makeUrlCheck(options.max ?? 2048),
  );
}

/** A UUID, which is converted to lower case. */
export function UuidField(options: Common = {}) {
  return declareApiField(
    { example: '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e', ...options },
    { type: String, format: 'uuid' },
    checkUuid,
  );
}

/** A list of ids. The use case checks whether each is a valid id. */
export function IdListField(options: Common & { minItems?: number; maxItems?: number; max?: number } = {}) {
  const { minItems = 0, maxItems = 100, max = 36 } = options;
  return declareApiField(
    options,
    { type: [String], minItems, maxItems, uniqueItems: true },
    makeIdListCheck({ minItems, maxItems, max }),
  );
}

export function DateTimeField(options: Common = {}) {
  return declareApiField(
    { example: '2026-01-31T09:30:00.000Z', ...options },
    { type: String, format: 'date-time' },
    checkDateTime,
  );
}

/** A calendar day, in the time zone that the description of the field specifies. */
export function DayField(options: Common = {}) {
  return declareApiField({ example: '2026-01-31', ...options }, { type: String, format: 'date' }, checkDay);
}

/** A calendar day, or a time. */
export function DayOrTimeField(options: Common = {}) {
  return declareApiField({ example: '2026-01-31', ...options }, { type: String, maxLength: 40 }, checkDayOrTime);
}

export function IntField(options: Common & { min?: number; max?: number } = {}) {
  const { min = 0, max = 2_147_483_647 } = options;
  return declareApiField(options, { type: 'integer', minimum: min, maximum: max }, makeIntegerCheck(min, max));
}

/** A list of distinct integers. */
export function IntListField(
  options: Common & { minItems?: number; maxItems?: number; min?: number; max?: number } = {},
) {
  const { minItems = 0, maxItems = 100, min = 0, max = 2_147_483_647 } = options;
  const items = { type: 'integer', minimum: min, maximum: max };
  return declareApiField(
    options,
    { type: 'array', items, minItems, maxItems, uniqueItems: true },
    makeIntegerListCheck({ minItems, maxItems, min, max }),
  );
}

/** In responses: a count, or false if there is nothing to count, such as for a deleted job. */
export function CountField(options: Common = {}) {
  const oneOf = [
    { type: 'integer', minimum: 0 },
    { type: 'boolean', enum: [false] },
  ];
  return declareApiField(options, { oneOf }, makeAnyJsonCheck(20));
}

/** An integer in a query string, where every value is text. */
export function QueryIntField(options: Common & { min?: number; max?: number } = {}) {
  const { min = 0, max = 2_147_483_647 } = options;
  return declareApiField(options, { type: 'integer', minimum: min, maximum: max }, makeIntegerTextCheck(min, max));
}

export function NumberField(options: Common & { min?: number; max?: number } = {}) {
  const { min = 0, max = 1_000_000_000 } = options;
  return declareApiField(options, { type: Number, minimum: min, maximum: max }, makeNumberCheck(min, max));
}

/** An amount of USD that a client sets, such as a limit or a price, with at most six decimals. */
export function UsdField(options: Common & { max?: number } = {}) {
  const { max = 1_000_000_000 } = options;
  return declareApiField(options, { type: Number, minimum: 0, maximum: max }, makeExactUsdCheck(max));
}

/** An amount of USD that a program computed. It is rounded to six decimals. */
export function ReportedUsdField(options: Common = {}) {
  return NumberField({ max: 1_000_000, ...options });
}

export function BooleanField(options: Common = {}) {
  return declareApiField(options, { type: Boolean }, checkBoolean);
}

export function EnumField(values: readonly string[], options: Common = {}) {
  return declareApiField(
    { example: values[0], ...options },
    { type: String, enum: [...values] },
    makeOneOfCheck(values),
  );
}

/** A nested object of another class. */
export function ObjectField(type: () => new () => object, options: Common = {}) {
  return declareApiField(options, { type: makeLazyType(type) }, makeNestedObjectCheck(type));
}

/** A map from names to texts, such as a run's variables. The use case checks which names are valid. */
export function TextMapField(options: Common & { maxKeys?: number; max?: number } = {}) {
  const { maxKeys = 200, max = 65_536 } = options;
  return declareApiField(
    options,
    { type: Object, additionalProperties: { type: 'string', maxLength: max } },
    makeTextMapCheck({ maxKeys, max }),
  );
}

const jsonTypes = [
  { type: 'object', additionalProperties: true },
  { type: 'array', items: {} },
  { type: 'string' },
  { type: 'number' },
  { type: 'boolean' },
];

/** A value of any JSON type, up to a maximum size. */
export function AnyJsonField(options: Common & { maxBytes?: number } = {}) {
  const { maxBytes = 262_144 } = options;
  return declareApiField(
    options,
    { oneOf: jsonTypes, description: options.description ?? 'Any JSON value.' },
    makeAnyJsonCheck(maxBytes),
  );
}

/** A free-form JSON object, such as audited changes. */
export function JsonField(options: Common = {}) {
  return declareApiField(options, { type: Object, additionalProperties: true }, checkObject);
}

/** A list of free-form JSON objects. */
export function JsonListField(options: Common & { maxItems?: number } = {}) {
  const { maxItems = 1000 } = options;
  return declareApiField(
    options,
    { type: 'array', items: { type: 'object', additionalProperties: true }, maxItems },
    makeObjectListCheck({ minItems: 0, maxItems }),
  );
}

export function ListField(
  type: () => new () => object,
  options: Common & { minItems?: number; maxItems?: number } = {},
) {
  const { minItems = 0, maxItems = 1000 } = options;
  return declareApiField(
    options,
    { type: makeLazyType(type), isArray: true, minItems, maxItems },
    makeListOfObjectsCheck(type, { minItems, maxItems }),
  );
}

export function TextListField(
  options: Common & {
    minItems?: number;
    maxItems?: number;
    max?: number;
    values?: readonly string[];
    visible?: boolean;
  } = {},
) {
  const { minItems = 0, maxItems = 100, max = 200, values, visible } = options;
  return declareApiField(
    options,
    { type: [String], minItems, maxItems, uniqueItems: true, ...(values ? { enum: [...values] } : {}) },
    makeTextListCheck({ minItems, maxItems, max, values, visible }),
  );
}

/** @nestjs/swagger recognizes a lazy type by the name of its function, which must be `type`. */
function makeLazyType(typeOf: () => new () => object) {
  const { type } = { type: () => typeOf() };
  return type;
}

function declareApiField(common: Common, schema: Record<string, unknown>, check: FieldCheck) {
  const { optional = false, nullable = false, description, example } = common;
  const shown = Object.fromEntries(
    Object.entries({ ...schema, description, example, nullable: nullable || undefined }).filter(
      ([, value]) => value !== undefined,
    ),
  );
  return applyDecorators(
    ApiProperty({ ...shown, required: !optional } as ApiPropertyOptions),
    // An absent field and a field that is null are different: an optional field is not automatically nullable.
    declareFieldRule({ optional, nullable, check }),
  );
}
