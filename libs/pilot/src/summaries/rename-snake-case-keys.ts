import { isDeepStrictEqual } from 'node:util';
import { type Faults, listFieldNames } from '@muster/contracts';
import { isJsonLargerThan } from './measure';

export interface Respelled {
  /** Values of the class's fields, by their names in camelCase. */
  known: Record<string, unknown>;
  /** Values of all keys that are not fields of the class, by their unchanged keys. */
  unknown: Record<string, unknown>;
}

/**
 * Renames snake_case keys to the field names of a class. A field in both spellings must have the same value in both.
 */
export function renameSnakeCaseKeys(
  type: { prototype: object },
  input: Record<string, unknown>,
  { faults, path }: { faults: Faults; path: string },
): Respelled {
  const names = listFieldSpellings(type);
  const [known, unknown]: [Record<string, unknown>, Record<string, unknown>] = [{}, {}];
  for (const key in input) {
    if (faults.isFull) break;
    const name = names.get(key);
    if (name === undefined) unknown[key] = input[key];
    else if (!Object.hasOwn(known, name)) known[name] = input[key];
    else if (!isSameJson(known[name], input[key])) {
      faults.addError(
        path ? `${path}.${name}` : name,
        `${name} is present in two spellings with different values, or with values too large to compare`,
      );
    }
  }
  return { known, unknown };
}

/** Maximum size of values in two spellings that are compared. Comparing larger values would block the event loop. */
const maxComparedBytes = 256 * 1024;

function isSameJson(one: unknown, other: unknown): boolean {
  return (
    !isJsonLargerThan(one, maxComparedBytes) &&
    !isJsonLargerThan(other, maxComparedBytes) &&
    isDeepStrictEqual(one, other)
  );
}

const spellings = new WeakMap<object, Map<string, string>>();

function listFieldSpellings(type: { prototype: object }): Map<string, string> {
  const cached = spellings.get(type);
  if (cached) return cached;
  const names = new Map(
    listFieldNames(type).flatMap((name) => [
      [name, name],
      [name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), name],
    ]),
  );
  spellings.set(type, names);
  return names;
}
