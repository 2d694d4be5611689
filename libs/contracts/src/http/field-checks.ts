import {
  arrayMaxSize,
  arrayMinSize,
  isArray,
  isBoolean,
  isEmail,
  isIn,
  isInt,
  isNumber,
  isObject,
  isString,
  isURL,
  matches,
  max as isAtMost,
  min as isAtLeast,
} from 'class-validator';
import { microsOf, usdOf } from '../money/money';
import { type FieldCheck, joined, type Place, readFields, wrong } from './field-rules';
import { readDay, readTime } from './read-time';

// What each value is judged by is class-validator's. The walk over a request is ours (field-rules.ts): its own goes on
// after a list was found too long, compares the elements of a list each with each, and reports without a bound.
// The messages end in front of people and in the tests of clients: they are part of the interface.

/** Characters as people count them: a pair of surrogates is one. */
function isLonger(text: string, max: number): boolean {
  if (text.length <= max) return false;
  if (text.length > 2 * max) return true;
  let characters = 0;
  for (const _ of text) characters += 1;
  return characters > max;
}

/** Blanks, what controls and joins others, and the letters of several scripts that are drawn as nothing. */
const unseen = /^[\p{Cc}\p{Cf}\p{Z}\p{M}\u115f\u1160\u2800\u3164\uffa0]*$/u;

interface TextRule {
  min: number;
  max: number;
  pattern?: RegExp;
  visible?: boolean;
}

export function text({ min, max, pattern, visible }: TextRule): FieldCheck {
  return (value, name, place) => {
    if (!isString(value)) return wrong(place, `${name} must be a string`);
    if (value.length < min) return wrong(place, `${name} must be longer than or equal to ${min} characters`);
    if (isLonger(value, max)) return wrong(place, `${name} must be shorter than or equal to ${max} characters`);
    if (pattern && !matches(value, pattern)) return wrong(place, `${name} must match ${pattern} regular expression`);
    if (visible && unseen.test(value)) return wrong(place, `${name} must have a visible character`);
    return value;
  };
}

/** What is not seen, or turns the direction of a line, makes an address look like somebody else's. */
const disguise = /[\p{Cc}\p{Cf}\p{Z}\u115f\u1160\u2800\u3164\uffa0]/u;

export const email: FieldCheck = (value, name, place) =>
  isString(value) && value.length <= 254 && isEmail(value) && !disguise.test(value)
    ? value
    : wrong(place, `${name} must be an email`);

export function url(max: number): FieldCheck {
  const options = { protocols: ['http', 'https'], require_protocol: true, require_tld: false };
  return (value, name, place) => {
    if (!isString(value)) return wrong(place, `${name} must be a URL address`);
    if (value.length > max) return wrong(place, `${name} must be shorter than or equal to ${max} characters`);
    return isURL(value, options) ? value : wrong(place, `${name} must be a URL address`);
  };
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** In capitals it is the same id; from here on it has one spelling. */
export const uuid: FieldCheck = (value, name, place) =>
  typeof value === 'string' && uuidPattern.test(value) ? value.toLowerCase() : wrong(place, `${name} must be a UUID`);

export const dateTime: FieldCheck = (value, name, place) => {
  const read = typeof value === 'string' ? readTime(value) : null;
  return read ?? wrong(place, `${name} must be a valid ISO 8601 date string with a time`);
};

export const day: FieldCheck = (value, name, place) => {
  const read = typeof value === 'string' ? readDay(value) : null;
  return read ?? wrong(place, `${name} must be a day that exists, as YYYY-MM-DD`);
};

export const dayOrTime: FieldCheck = (value, name, place) => {
  const read = typeof value === 'string' ? (readDay(value) ?? readTime(value)) : null;
  return read ?? wrong(place, `${name} must be a day as YYYY-MM-DD, or a valid ISO 8601 date string with a time`);
};

export function integer(min: number, max: number): FieldCheck {
  return (value, name, place) => {
    if (!isInt(value)) return wrong(place, `${name} must be an integer number`);
    return between(value as number, { min, max, name, place });
  };
}

/** An integer in a query string, where every value is text. */
export function integerText(min: number, max: number): FieldCheck {
  return (value, name, place) => {
    const number = typeof value === 'string' && /^-?\d{1,16}$/.test(value) ? Number(value) : NaN;
    if (Number.isNaN(number)) return wrong(place, `${name} must be an integer number`);
    return between(number, { min, max, name, place });
  };
}

export function number(min: number, max: number): FieldCheck {
  return (value, name, place) => {
    if (!isNumber(value)) {
      return wrong(place, `${name} must be a number conforming to the specified constraints`);
    }
    return between(value, { min, max, name, place });
  };
}

/** USD that somebody sets: no finer than it is kept. */
export function exactUsd(max: number): FieldCheck {
  const inRange = number(0, max);
  return (value, name, place) => {
    const usd = inRange(value, name, place) as number | undefined;
    if (usd === undefined || usdOf(microsOf(usd)) === usd) return usd;
    return wrong(place, `${name} must have at most six decimals`);
  };
}

function between(value: number, { min, max, name, place }: { min: number; max: number; name: string; place: Place }) {
  if (!isAtLeast(value, min)) return wrong(place, `${name} must not be less than ${min}`);
  if (!isAtMost(value, max)) return wrong(place, `${name} must not be greater than ${max}`);
  return value;
}

export const boolean: FieldCheck = (value, name, place) =>
  isBoolean(value) ? value : wrong(place, `${name} must be a boolean value`);

export function oneOf(values: readonly string[]): FieldCheck {
  return (value, name, place) =>
    isIn(value, values) ? value : wrong(place, `${name} must be one of the following values: ${values.join(', ')}`);
}

export const object: FieldCheck = (value, name, place) =>
  isObject(value) ? value : wrong(place, `${name} must be an object`);

export function nested(type: () => new () => object): FieldCheck {
  return (value, name, place) =>
    isObject(value) ? readFields(type(), value, place) : wrong(place, `${name} must be an object`);
}

export function textMap({ maxKeys, max }: { maxKeys: number; max: number }): FieldCheck {
  const fits = (text: unknown) => typeof text === 'string' && text.length <= max;
  return (value, name, place) => {
    if (!isObject(value)) return wrong(place, `${name} must be an object`);
    if (hasAtMost(value, maxKeys) && Object.values(value).every(fits)) return value;
    return wrong(place, `${name} must have at most ${maxKeys} names, each with a text of at most ${max} characters`);
  };
}

/** Stops counting where it is too many. */
function hasAtMost(value: object, max: number): boolean {
  let count = 0;
  for (const _ in value) if ((count += 1) > max) return false;
  return true;
}

export function anyJson(maxBytes: number): FieldCheck {
  return (value, name, place) =>
    value !== undefined && Buffer.byteLength(JSON.stringify(value)) <= maxBytes
      ? value
      : wrong(place, `${name} must be a JSON value of at most ${maxBytes} bytes`);
}

interface Size {
  minItems: number;
  maxItems: number;
}

/** A list is measured before its elements are looked at, and each of these only while nothing before it was wrong. */
function list(
  { minItems, maxItems }: Size,
  check: (items: unknown[], name: string, place: Place) => unknown,
): FieldCheck {
  return (value, name, place) => {
    if (!isArray(value)) return wrong(place, `${name} must be an array`);
    if (!arrayMinSize(value, minItems)) return wrong(place, `${name} must contain at least ${minItems} elements`);
    if (!arrayMaxSize(value, maxItems)) return wrong(place, `${name} must contain no more than ${maxItems} elements`);
    return check(value, name, place);
  };
}

export function listOf(type: () => new () => object, size: Size): FieldCheck {
  return list(size, (items, name, place) =>
    items.map((item, at) => {
      if (place.faults.full) return undefined;
      const own = { ...place, path: joined(place.path, at) };
      return isObject(item) ? readFields(type(), item, own) : wrong(own, `${name}.${at} must be an object`);
    }),
  );
}

export function objects(size: Size): FieldCheck {
  return list(size, (items, name, place) =>
    items.every(isObject) ? items : wrong(place, `each value in ${name} must be an object`),
  );
}

export function texts(size: Size & { max: number; values?: readonly string[]; visible?: boolean }): FieldCheck {
  const { max, values, visible } = size;
  return list(size, (items, name, place) => {
    for (const item of items) {
      if (values && !values.includes(item as string)) {
        return wrong(place, `each value in ${name} must be one of the following values: ${values.join(', ')}`);
      }
      if (typeof item !== 'string') return wrong(place, `each value in ${name} must be a string`);
      if (isLonger(item, max)) {
        return wrong(place, `each value in ${name} must be shorter than or equal to ${max} characters`);
      }
      if (visible && unseen.test(item)) return wrong(place, `each value in ${name} must have a visible character`);
    }
    return new Set(items).size === items.length ? items : wrong(place, `All ${name}'s elements must be unique`);
  });
}

export function integers(size: Size & { min: number; max: number }): FieldCheck {
  const { min, max } = size;
  return list(size, (items, name, place) => {
    for (const item of items) {
      if (!isInt(item)) return wrong(place, `each value in ${name} must be an integer number`);
      if (!isAtLeast(item, min)) return wrong(place, `each value in ${name} must not be less than ${min}`);
      if (!isAtMost(item, max)) return wrong(place, `each value in ${name} must not be greater than ${max}`);
    }
    return new Set(items).size === items.length ? items : wrong(place, `All ${name}'s elements must be unique`);
  });
}

/** Ids, of which the use case says what is wrong; in one spelling. */
export function idTexts(size: Size & { max: number }): FieldCheck {
  const check = texts(size);
  return (value, name, place) => {
    const lowered = Array.isArray(value) && value.length <= size.maxItems ? value.map(lowerCased) : value;
    return check(lowered, name, place);
  };
}

function lowerCased(value: unknown): unknown {
  return typeof value === 'string' ? value.toLowerCase() : value;
}
