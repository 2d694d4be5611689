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
import { usdToMicros, microsToUsd } from '../money/money';
import { type FieldCheck, joinFieldPath, type Place, readFields, addFieldError } from './field-rules';
import { parseDay, parseTime } from './parse-time';

// Single values are checked with class-validator, but field-rules.ts walks the request. class-validator's own walk
// continues after a list is too long, compares all pairs of a list's elements and reports an unlimited number of
// errors. The messages are shown to people and asserted by tests of clients: they are part of the API.

/** Whether the text has more than `max` characters. A surrogate pair counts as one character. */
function isLongerThan(text: string, max: number): boolean {
  if (text.length <= max) return false;
  if (text.length > 2 * max) return true;
  let characters = 0;
  for (const _ of text) characters += 1;
  return characters > max;
}

/** Matches a text without a visible character: spaces, control and combining characters, blank letters. */
const unseen = /^[\p{Cc}\p{Cf}\p{Z}\p{M}\u115f\u1160\u2800\u3164\uffa0]*$/u;

interface TextRule {
  min: number;
  max: number;
  pattern?: RegExp;
  visible?: boolean;
}

export function makeTextCheck({ min, max, pattern, visible }: TextRule): FieldCheck {
  return (value, name, place) => {
    if (!isString(value)) return addFieldError(place, `${name} must be a string`);
    if (value.length < min) return addFieldError(place, `${name} must be longer than or equal to ${min} characters`);
    if (isLongerThan(value, max))
      return addFieldError(place, `${name} must be shorter than or equal to ${max} characters`);
    if (pattern && !matches(value, pattern))
      return addFieldError(place, `${name} must match ${pattern} regular expression`);
    if (visible && unseen.test(value)) return addFieldError(place, `${name} must have a visible character`);
    return value;
  };
}

/** Invisible and direction-changing characters, which can make an address look like a different one. */
const disguise = /[\p{Cc}\p{Cf}\p{Z}\u115f\u1160\u2800\u3164\uffa0]/u;

export function isEmailAddress(text: string): boolean {
  return text.length <= 254 && isEmail(text) && !disguise.test(text);
}

export const checkEmail: FieldCheck = (value, name, place) =>
  isString(value) && isEmailAddress(value) ? value : addFieldError(place, `${name} must be an email`);

export function makeUrlCheck(max: number): FieldCheck {
  const options = { protocols: ['http', 'https'], require_protocol: true, require_tld: false };
  return (value, name, place) => {
    if (!isString(value)) return addFieldError(place, `${name} must be a URL address`);
    if (value.length > max) return addFieldError(place, `${name} must be shorter than or equal to ${max} characters`);
    return isURL(value, options) ? value : addFieldError(place, `${name} must be a URL address`);
  };
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Converts the id to lower case, so that each id has one spelling. */
export const checkUuid: FieldCheck = (value, name, place) =>
  typeof value === 'string' && uuidPattern.test(value)
    ? value.toLowerCase()
    : addFieldError(place, `${name} must be a UUID`);

export const checkDateTime: FieldCheck = (value, name, place) => {
  const read = typeof value === 'string' ? parseTime(value) : null;
  return read ?? addFieldError(place, `${name} must be a valid ISO 8601 date string with a time`);
};

export const checkDay: FieldCheck = (value, name, place) => {
  const read = typeof value === 'string' ? parseDay(value) : null;
  return read ?? addFieldError(place, `${name} must be a day that exists, as YYYY-MM-DD`);
};

export const checkDayOrTime: FieldCheck = (value, name, place) => {
  const read = typeof value === 'string' ? (parseDay(value) ?? parseTime(value)) : null;
  return (
    read ?? addFieldError(place, `${name} must be a day as YYYY-MM-DD, or a valid ISO 8601 date string with a time`)
  );
};

export function makeIntegerCheck(min: number, max: number): FieldCheck {
  return (value, name, place) => {
    if (!isInt(value)) return addFieldError(place, `${name} must be an integer number`);
    return checkRange(value as number, { min, max, name, place });
  };
}

/** Returns a check for an integer in a query string, where every value is text. */
export function makeIntegerTextCheck(min: number, max: number): FieldCheck {
  return (value, name, place) => {
    const number = typeof value === 'string' && /^-?\d{1,16}$/.test(value) ? Number(value) : NaN;
    if (Number.isNaN(number)) return addFieldError(place, `${name} must be an integer number`);
    return checkRange(number, { min, max, name, place });
  };
}

export function makeNumberCheck(min: number, max: number): FieldCheck {
  return (value, name, place) => {
    if (!isNumber(value)) {
      return addFieldError(place, `${name} must be a number conforming to the specified constraints`);
    }
    return checkRange(value, { min, max, name, place });
  };
}

/** Checks an amount of USD that a client sets: at most the six decimals that are stored. */
export function makeExactUsdCheck(max: number): FieldCheck {
  const inRange = makeNumberCheck(0, max);
  return (value, name, place) => {
    const usd = inRange(value, name, place) as number | undefined;
    if (usd === undefined || microsToUsd(usdToMicros(usd)) === usd) return usd;
    return addFieldError(place, `${name} must have at most six decimals`);
  };
}

function checkRange(
  value: number,
  { min, max, name, place }: { min: number; max: number; name: string; place: Place },
) {
  if (!isAtLeast(value, min)) return addFieldError(place, `${name} must not be less than ${min}`);
  if (!isAtMost(value, max)) return addFieldError(place, `${name} must not be greater than ${max}`);
  return value;
}

export const checkBoolean: FieldCheck = (value, name, place) =>
  isBoolean(value) ? value : addFieldError(place, `${name} must be a boolean value`);

export function makeOneOfCheck(values: readonly string[]): FieldCheck {
  return (value, name, place) =>
    isIn(value, values)
      ? value
      : addFieldError(place, `${name} must be one of the following values: ${values.join(', ')}`);
}

export const checkObject: FieldCheck = (value, name, place) =>
  isObject(value) ? value : addFieldError(place, `${name} must be an object`);

export function makeNestedObjectCheck(type: () => new () => object): FieldCheck {
  return (value, name, place) =>
    isObject(value) ? readFields(type(), value, place) : addFieldError(place, `${name} must be an object`);
}

export function makeTextMapCheck({ maxKeys, max }: { maxKeys: number; max: number }): FieldCheck {
  const isShortText = (text: unknown) => typeof text === 'string' && text.length <= max;
  return (value, name, place) => {
    if (!isObject(value)) return addFieldError(place, `${name} must be an object`);
    if (hasAtMostKeys(value, maxKeys) && Object.values(value).every(isShortText)) return value;
    return addFieldError(
      place,
      `${name} must have at most ${maxKeys} names, each with a text of at most ${max} characters`,
    );
  };
}

/** Whether the object has at most `max` keys. Stops counting at the first key too many. */
function hasAtMostKeys(value: object, max: number): boolean {
  let count = 0;
  for (const _ in value) if ((count += 1) > max) return false;
  return true;
}

export function makeAnyJsonCheck(maxBytes: number): FieldCheck {
  return (value, name, place) =>
    value !== undefined && Buffer.byteLength(JSON.stringify(value)) <= maxBytes
      ? value
      : addFieldError(place, `${name} must be a JSON value of at most ${maxBytes} bytes`);
}

interface Size {
  minItems: number;
  maxItems: number;
}

/** Checks the length of a list. Its elements are only checked if the length is right. */
function makeListCheck(
  { minItems, maxItems }: Size,
  check: (items: unknown[], name: string, place: Place) => unknown,
): FieldCheck {
  return (value, name, place) => {
    if (!isArray(value)) return addFieldError(place, `${name} must be an array`);
    if (!arrayMinSize(value, minItems))
      return addFieldError(place, `${name} must contain at least ${minItems} elements`);
    if (!arrayMaxSize(value, maxItems))
      return addFieldError(place, `${name} must contain no more than ${maxItems} elements`);
    return check(value, name, place);
  };
}

export function makeListOfObjectsCheck(type: () => new () => object, size: Size): FieldCheck {
  return makeListCheck(size, (items, name, place) =>
    items.map((item, at) => {
      if (place.faults.isFull) return undefined;
      const own = { ...place, path: joinFieldPath(place.path, at) };
      return isObject(item) ? readFields(type(), item, own) : addFieldError(own, `${name}.${at} must be an object`);
    }),
  );
}

export function makeObjectListCheck(size: Size): FieldCheck {
  return makeListCheck(size, (items, name, place) =>
    items.every(isObject) ? items : addFieldError(place, `each value in ${name} must be an object`),
  );
}

export function makeTextListCheck(
  size: Size & { max: number; values?: readonly string[]; visible?: boolean },
): FieldCheck {
  const { max, values, visible } = size;
  return makeListCheck(size, (items, name, place) => {
    for (const item of items) {
      if (values && !values.includes(item as string)) {
        return addFieldError(place, `each value in ${name} must be one of the following values: ${values.join(', ')}`);
      }
      if (typeof item !== 'string') return addFieldError(place, `each value in ${name} must be a string`);
      if (isLongerThan(item, max)) {
        return addFieldError(place, `each value in ${name} must be shorter than or equal to ${max} characters`);
      }
      if (visible && unseen.test(item))
        return addFieldError(place, `each value in ${name} must have a visible character`);
    }
    return new Set(items).size === items.length ? items : addFieldError(place, `All ${name}'s elements must be unique`);
  });
}

export function makeIntegerListCheck(size: Size & { min: number; max: number }): FieldCheck {
  const { min, max } = size;
  return makeListCheck(size, (items, name, place) => {
    for (const item of items) {
      if (!isInt(item)) return addFieldError(place, `each value in ${name} must be an integer number`);
      if (!isAtLeast(item, min)) return addFieldError(place, `each value in ${name} must not be less than ${min}`);
      if (!isAtMost(item, max)) return addFieldError(place, `each value in ${name} must not be greater than ${max}`);
    }
    return new Set(items).size === items.length ? items : addFieldError(place, `All ${name}'s elements must be unique`);
  });
}

/** Checks a list of ids and converts them to lower case. The use case checks whether each is a valid id. */
export function makeIdListCheck(size: Size & { max: number }): FieldCheck {
  const check = makeTextListCheck(size);
  return (value, name, place) => {
    const lowered = Array.isArray(value) && value.length <= size.maxItems ? value.map(toLowerCaseIfText) : value;
    return check(lowered, name, place);
  };
}

function toLowerCaseIfText(value: unknown): unknown {
  return typeof value === 'string' ? value.toLowerCase() : value;
}
