import type { FieldError } from '../errors/app-error';
import { maxFieldErrors, shortenText } from './shorten-text';

/** Checks the value of a field: returns the value to use, or reports what is wrong with it. */
export type FieldCheck = (value: unknown, name: string, place: Place) => unknown;

interface FieldRule {
  optional: boolean;
  nullable: boolean;
  check: FieldCheck;
}

const maxLooked = 200;
const maxFieldLength = 200;
const maxMessageLength = 500;

/** Errors of one request. Checking stops after `maxLooked` errors; the first `maxFieldErrors` are reported. */
export class Faults {
  readonly errors: FieldError[] = [];
  private seen = 0;

  get isEmpty(): boolean {
    return this.seen === 0;
  }

  /** Whether the maximum number of errors was found, so that checking stops. */
  get isFull(): boolean {
    return this.seen >= maxLooked;
  }

  addError(field: string, message: string): void {
    this.seen += 1;
    if (this.errors.length >= maxFieldErrors) return;
    this.errors.push({ field: shortenText(field, maxFieldLength), message: shortenText(message, maxMessageLength) });
  }
}

/** Location of a value in its request, and where its errors are collected. */
export interface Place {
  faults: Faults;
  path: string;
  /** Whether fields that the class does not declare are refused or ignored. */
  unknown: 'refuse' | 'ignore';
}

/** Adds an error for the field at this location. */
export function addFieldError(place: Place, message: string): undefined {
  place.faults.addError(place.path, message);
}

const ownRules = new WeakMap<object, Map<string, FieldRule>>();
const allRules = new WeakMap<object, Map<string, FieldRule>>();

/** Declares the rule of a property of a class. */
export function declareFieldRule(rule: FieldRule): PropertyDecorator {
  return (prototype, name) => {
    const own = ownRules.get(prototype) ?? new Map<string, FieldRule>();
    own.set(name as string, rule);
    ownRules.set(prototype, own);
  };
}

/** Returns the names of a class's fields. */
export function listFieldNames(type: { prototype: object }): string[] {
  return [...collectFieldRules(type).keys()];
}

/** Returns the rules of a class's fields, inherited ones first. */
function collectFieldRules(type: { prototype: object }): Map<string, FieldRule> {
  const known = allRules.get(type);
  if (known) return known;
  const chain: object[] = [];
  for (let at: object | null = type.prototype; at; at = Object.getPrototypeOf(at) as object | null) chain.unshift(at);
  const rules = new Map(chain.flatMap((prototype) => [...(ownRules.get(prototype) ?? [])]));
  allRules.set(type, rules);
  return rules;
}

/**
 * Reads an object by the rules of the class and visits each field once. The content of a list or text that is too long
 * is not inspected.
 */
export function readFields<T extends object>(type: new () => T, input: object, place: Place): T {
  const rules = collectFieldRules(type);
  const values = input as Record<string, unknown>;
  const { faults, path, unknown } = place;
  if (unknown === 'refuse') {
    for (const name in values) {
      if (faults.isFull) break;
      if (Object.hasOwn(values, name) && !rules.has(name)) {
        faults.addError(joinFieldPath(path, name), `property ${shortenText(name, maxFieldLength)} should not exist`);
      }
    }
  }
  const read = new type() as Record<string, unknown>;
  for (const [name, { optional, nullable, check }] of rules) {
    if (faults.isFull) break;
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value === undefined && optional) continue;
    read[name] = value === null && nullable ? null : check(value, name, { ...place, path: joinFieldPath(path, name) });
  }
  return read as T;
}

export function joinFieldPath(path: string, name: string | number): string {
  return path === '' ? String(name) : `${path}.${name}`;
}
